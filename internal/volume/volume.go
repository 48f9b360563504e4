// Package volume reads what is to be mounted into a container, as docker run -v writes it. It looks at no
// file and knows no engine.
package volume

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode"
)

const (
	// Meeting is where a container sees the directory that hermes-exec itself shares with it.
	Meeting = "/run/hermes-exec"
	// Workspace is where a container sees the caller's directory, if that is asked for.
	Workspace = "/workspace"
)

// Volume is one mount. Source is as it was written: a directory of the host, or the name of a volume.
type Volume struct {
	Source, Target string
	ReadOnly       bool
}

// ParseAll reads a list. Its error tells of all that is wrong with it.
func ParseAll(texts []string) ([]Volume, error) {
	var errs []string
	list, taken := make([]Volume, 0, len(texts)), map[string]string{}
	for _, text := range texts {
		v, err := Parse(text)
		if other, twice := taken[v.Target]; err == nil && twice {
			err = fmt.Errorf("%s is where %q is mounted already", v.Target, other)
		}
		if err != nil {
			errs = append(errs, fmt.Sprintf("%q: %v", text, err))
			continue
		}
		taken[v.Target] = text
		list = append(list, v)
	}
	if len(errs) > 0 {
		return nil, errors.New(strings.Join(errs, "; "))
	}
	return list, nil
}

// Parse reads HOST:CONTAINER[:ro] or NAME:CONTAINER[:ro].
func Parse(text string) (Volume, error) {
	drive := ""
	if OnDrive(text) && strings.Count(text, ":") > 1 {
		drive, text = text[:2], text[2:] // C:\data:/data
	}
	parts := strings.Split(text, ":")
	if len(parts) < 2 || len(parts) > 3 || parts[0] == "" {
		return Volume{}, errors.New("want HOST:CONTAINER or HOST:CONTAINER:ro")
	}
	v := Volume{Source: drive + parts[0], Target: path.Clean(parts[1])}
	switch {
	case !path.IsAbs(parts[1]):
		return Volume{}, fmt.Errorf("%q is no absolute path", parts[1])
	case v.Target == "/":
		return Volume{}, errors.New("the root of a container is its image's")
	case v.Target == Meeting || strings.HasPrefix(v.Target, Meeting+"/"):
		return Volume{}, fmt.Errorf("%s is where hermes-exec itself and the container meet: mount it elsewhere", Meeting)
	case len(parts) == 2:
		return v, nil
	}
	switch parts[2] {
	case "ro":
		v.ReadOnly = true
	case "rw", "":
	default:
		return Volume{}, fmt.Errorf("unknown option %q: there are ro and rw", parts[2])
	}
	return v, nil
}

// OnDrive tells whether a path is one of Windows, such as C:\data.
func OnDrive(name string) bool {
	return len(name) > 2 && unicode.IsLetter(rune(name[0])) && name[1] == ':' && strings.ContainsRune(`/\`, rune(name[2]))
}
