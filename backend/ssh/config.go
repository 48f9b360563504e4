package ssh

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"

	"github.com/hermes-exec/hermes-exec/backend"
)

// Config says what to open. Host is needed; the zero value of everything else is what the ssh
// configuration says.
type Config struct {
	Host      string // a name of the ssh configuration, or an address
	User      string
	Port      int
	Key       string // a private key that is offered first
	AcceptNew bool   // remember the key of a host that is not known yet

	Dir    string // the working directory there; "" is the home
	Python string // the interpreter there; "" looks for one
	Strict bool   // work in the scratch

	SpoolSFTP bool // mirror shares over SFTP, and not by the agent
}

// ParseURL reads ssh://[USER@]HOST[:PORT][/DIR]?python=PATH… It is strict: what it does not know is an
// error. The directory of the path is /DIR; that of ?dir=DIR, in its place, is below the home if it does not
// begin with a slash.
func ParseURL(u *url.URL) (Config, error) {
	cfg := Config{Host: u.Hostname(), User: u.User.Username()}
	if _, has := u.User.Password(); has {
		return Config{}, errors.New("backend URL: a password has no place there")
	}
	if cfg.Host == "" || u.Opaque != "" || u.Path != "" && u.Query().Has("dir") {
		return Config{}, fmt.Errorf("backend URL %s: want ssh://[USER@]HOST[:PORT][/DIR]", u)
	}
	if u.Path != "/" {
		cfg.Dir = u.Path
	}
	if port := u.Port(); port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return Config{}, fmt.Errorf("backend URL %s: %q is no port", u, port)
		}
		cfg.Port = int(n)
	}
	err := backend.ReadQuery(u, func(key string, values []string) error { return cfg.set(key, values[len(values)-1]) })
	if err != nil {
		return Config{}, err
	}
	return cfg, nil
}

func (c *Config) set(key, value string) error {
	switch key {
	case "dir":
		c.Dir = value
	case "key":
		c.Key = value
	case "host_key_checking":
		if c.AcceptNew = value == "accept-new"; !c.AcceptNew && value != "yes" {
			return errors.New("want yes or accept-new")
		}
	case "spool":
		if c.SpoolSFTP = value == "sftp"; !c.SpoolSFTP && value != "agent" {
			return errors.New("want agent or sftp")
		}
	case "python":
		c.Python = value
	case "mode":
		if c.Strict = value == "strict"; !c.Strict && value != "project" {
			return errors.New("want project or strict")
		}
	default:
		return errors.New("unknown option")
	}
	return nil
}
