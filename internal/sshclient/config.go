package sshclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/kevinburke/ssh_config"
)

// Resolve finds out what the configuration says of a host: by OpenSSH where it is installed, for it
// knows every word of its own language, else by a parser that knows most of it, and refuses what it
// does not know, such as Match exec.
func Resolve(ctx context.Context, o Options) (*Host, error) {
	if strings.HasPrefix(o.Host, "-") || o.Host == "" {
		return nil, fmt.Errorf("%q is no name of a host", o.Host)
	}
	if program := o.program(); program != "" {
		s, err := o.ask(ctx, program)
		if err != nil {
			return nil, err
		}
		return o.host(s, "ssh -G")
	}
	s, err := o.parse()
	if err != nil {
		return nil, err
	}
	return o.host(s, "~/.ssh/config")
}

// program is OpenSSH on the caller's PATH, or "".
func (o Options) program() string {
	for _, dir := range filepath.SplitList(o.Env["PATH"]) {
		path := filepath.Join(dir, "ssh")
		if info, err := os.Stat(path); err == nil && filepath.IsAbs(path) && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return path
		}
	}
	return ""
}

// ask has OpenSSH print its configuration for the host. It takes the home directory from the password
// file, whatever HOME says: a caller with another HOME is given that one's configuration.
func (o Options) ask(ctx context.Context, program string) (settings, error) {
	args := []string{"-G"}
	other := o.home() != passwordHome()
	if other {
		args = append(args, "-F", o.file())
	}
	if o.User != "" {
		args = append(args, "-l", o.User)
	}
	if o.Port != 0 {
		args = append(args, "-p", strconv.Itoa(o.Port))
	}
	cmd := exec.CommandContext(ctx, program, append(args, "--", o.Host)...)
	cmd.Env = []string{"PATH=" + o.Env["PATH"], "HOME=" + o.home(), "USER=" + o.Env["USER"]} // what Match exec may need
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		if said := strings.TrimSpace(stderr.String()); said != "" {
			err = errors.New(said)
		}
		return nil, fmt.Errorf("ssh -G %s: %w", o.Host, err)
	}
	s := settings{}
	for line := range strings.Lines(string(out)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if other {
			value = strings.ReplaceAll(" "+value, " "+passwordHome()+"/", " ~/")[1:]
		}
		s[key] = append(s[key], value)
	}
	delete(s, "hostkeyalgorithms") // always there; the order is ours to choose by what is known
	return s, nil
}

// file is the user's own configuration; os.DevNull if there is none.
func (o Options) file() string {
	name := filepath.Join(o.home(), ".ssh", "config")
	if _, err := os.Stat(name); err != nil {
		return os.DevNull
	}
	return name
}

// parsed are the keys that Host needs.
const parsed = "hostname user port proxyjump proxycommand hostkeyalias identityfile certificatefile identitiesonly identityagent " +
	"userknownhostsfile globalknownhostsfile stricthostkeychecking connecttimeout serveraliveinterval serveralivecountmax"

// parse reads the user's configuration and the system's, as far as they concern the host.
func (o Options) parse() (settings, error) {
	s := settings{}
	for _, name := range []string{o.file(), "/etc/ssh/ssh_config"} {
		if err := o.parseFile(name, s); err != nil {
			return nil, err
		}
	}
	for key, value := range map[string]string{
		"userknownhostsfile": "~/.ssh/known_hosts ~/.ssh/known_hosts2", "globalknownhostsfile": "/etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2",
	} {
		if len(s[key]) == 0 {
			s[key] = []string{value}
		}
	}
	if len(s["identityfile"]) == 0 {
		for _, kind := range []string{"rsa", "ecdsa", "ecdsa_sk", "ed25519", "ed25519_sk"} {
			s["identityfile"] = append(s["identityfile"], "~/.ssh/id_"+kind)
		}
	}
	return s, nil
}

// parseFile adds what a file says. The first value of a key counts, but for those that add up.
func (o Options) parseFile(name string, s settings) error {
	text, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if text, err = o.inline(text, filepath.Dir(name), 0); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	c, err := ssh_config.DecodeBytes(text)
	if err != nil {
		return fmt.Errorf("%s: %w; with OpenSSH installed it is read by that", name, err)
	}
	for key := range strings.FieldsSeq(parsed) {
		values, err := c.GetAll(o.Host, key)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		several := key == "identityfile" || key == "certificatefile"
		if several || len(s[key]) == 0 {
			s[key] = append(s[key], values...)
		}
	}
	return nil
}

// mostIncludes bounds how deep files include others, as OpenSSH does.
const mostIncludes = 16

// inline puts what a text includes in its place. The parser could do that, but it looks for files in the
// home of this process. What follows an Include belongs to the section that it stands in.
func (o Options) inline(text []byte, dir string, depth int) ([]byte, error) {
	var b bytes.Buffer
	section := "Host *\n"
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(strings.Replace(line, "=", " ", 1))
		switch {
		case len(words) > 1 && (strings.EqualFold(words[0], "host") || strings.EqualFold(words[0], "match")):
			section = strings.TrimRight(line, "\r\n") + "\n"
		case len(words) > 1 && strings.EqualFold(words[0], "include"):
			included, err := o.included(words[1:], dir, depth)
			if err != nil {
				return nil, err
			}
			// In a section of its own until it opens one: what it says first is for the section it is in.
			line = string(included) + "\n" + section
		}
		b.WriteString(line)
	}
	return b.Bytes(), nil
}

// included is the text of the files that an Include names.
func (o Options) included(patterns []string, dir string, depth int) ([]byte, error) {
	if depth >= mostIncludes {
		return nil, fmt.Errorf("more than %d files include each other", mostIncludes)
	}
	var b bytes.Buffer
	for _, pattern := range patterns {
		switch pattern = strings.Trim(pattern, `"`); {
		case strings.HasPrefix(pattern, "~/"):
			pattern = filepath.Join(o.home(), pattern[2:])
		case !filepath.IsAbs(pattern):
			pattern = filepath.Join(dir, pattern)
		}
		names, err := filepath.Glob(pattern)
		if err != nil {
			return nil, fmt.Errorf("include %s: %w", pattern, err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				return nil, err
			}
			if text, err = o.inline(text, dir, depth+1); err != nil {
				return nil, err
			}
			b.Write(text)
			b.WriteByte('\n')
		}
	}
	return b.Bytes(), nil
}

// passwordHome is the home directory that the system knows for this user.
func passwordHome() string {
	if u, err := user.Current(); err == nil {
		return u.HomeDir
	}
	return ""
}

func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}
