package docker

import (
	"fmt"
	"log/slog"
	"net/url"
	"strconv"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/sshclient"
)

// Config says what to open. Image or Container is needed; the zero value of everything else is the
// engine's or the image's own.
type Config struct {
	Image     string // what the container is made from
	Container string // a running container to enter in place of making one; it is never removed

	Dir    string // the working directory inside; "" is the image's
	Python string // the interpreter inside; "" looks for one
	Strict bool   // work in the scratch

	User     string   // USER[:GROUP]; "" is the image's, or the caller where a directory of the host is mounted
	Volumes  []string // HOST:CONTAINER[:ro] or NAME:CONTAINER[:ro]
	MountCwd bool     // mount HostDir at /workspace, and work there unless Dir says where
	Network  string   // "none", "bridge" or a name; "" is none
	Runtime  string
	Memory   int64   // bytes
	CPUs     float64 // processors
	Pids     int64

	Env      map[string]string // the caller's variables, which lead to the engine
	HostDir  string            // the caller's working directory
	Pool     *sshclient.Pool   // as in Host
	Prompt   sshclient.Prompt  // as in Host
	Progress func(text string) // told what takes time, as pulling an image does, and "" when that is over; nil: nobody
	Log      *slog.Logger      // nil: silent
}

// ParseURL reads docker:IMAGE?memory=BYTES&network=NAME… or docker:?container=NAME. It is strict: what
// it does not know is an error.
func ParseURL(u *url.URL) (Config, error) {
	if u.Host != "" || u.User != nil || u.Path != "" {
		return Config{}, fmt.Errorf("backend URL %s: want docker:IMAGE", u.Redacted())
	}
	image, err := url.PathUnescape(u.Opaque)
	if err != nil {
		return Config{}, fmt.Errorf("backend URL %s: %w", u, err)
	}
	cfg := Config{Image: image}
	if err := backend.ReadQuery(u, cfg.set); err != nil {
		return Config{}, err
	}
	if cfg.Image == "" && cfg.Container == "" {
		return Config{}, fmt.Errorf("backend URL %s: neither an image nor a container", u)
	}
	return cfg, nil
}

func (c *Config) set(key string, values []string) (err error) {
	switch value := values[len(values)-1]; key {
	case "container":
		c.Container = value
	case "dir":
		c.Dir = value
	case "python":
		c.Python = value
	case "mode":
		if c.Strict = value == "strict"; !c.Strict && value != "project" {
			return fmt.Errorf("want project or strict")
		}
	case "user":
		c.User = value
	case "volume":
		c.Volumes = values
	case "mount_cwd":
		c.MountCwd, err = strconv.ParseBool(value)
	case "network":
		c.Network = value
	case "runtime":
		c.Runtime = value
	case "memory":
		c.Memory, err = strconv.ParseInt(value, 10, 64)
	case "cpus":
		c.CPUs, err = strconv.ParseFloat(value, 64)
	case "pids":
		c.Pids, err = strconv.ParseInt(value, 10, 64)
	default:
		return fmt.Errorf("unknown option")
	}
	return err
}
