// Package sshclient reaches hosts over SSH as OpenSSH users expect: by their configuration, with their
// keys, and only where the host's key is the known one.
//
// The protocol is golang.org/x/crypto/ssh's. OpenSSH, where it is installed, is asked for its view of
// the configuration and never for a connection.
package sshclient

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Options say which host is meant and what is stronger than the configuration.
type Options struct {
	Host string // a name of the configuration, or an address
	User string // "" is the configuration's
	Port int    // 0 is the configuration's
	Key  string // a private key that is offered first; "" is none

	AcceptNew bool // remember the key of a host that is not known yet; else it is refused

	Env    map[string]string // the caller's variables: HOME, PATH, SSH_AUTH_SOCK
	Prompt Prompt            // asks the user; nil: nobody can be asked
}

// Prompt asks the user a question and returns the answer. Echo says that it may be shown while it is
// typed. It returns when ctx ends.
type Prompt func(ctx context.Context, question string, echo bool) (string, error)

// Host is what the configuration says of a host.
type Host struct {
	Alias    string // as it was asked for
	Name     string // to dial
	Port     int
	User     string
	Jumps    []string // hosts to go through, in order, as [user@]host[:port]
	Command  string   // ProxyCommand; "" is none
	KeyAlias string   // the name whose key it has; "" is its own

	Identities     []string // private keys, absolute
	Certificates   []string
	OnlyIdentities bool   // of the keys that the agent has, offer those of Identities alone
	Agent          string // the socket of the agent; "" is none

	KnownHosts []string // files, the user's first
	Checking   string   // StrictHostKeyChecking
	Algorithms []string // HostKeyAlgorithms, where the configuration says; else nil

	ConnectTimeout time.Duration // 0: the caller's own
	AliveInterval  time.Duration // 0: the default
	AliveCount     int

	Source string // who read the configuration: "ssh -G" or "~/.ssh/config"
}

// String is the host for messages: user@name:port, without the usual port.
func (h *Host) String() string {
	name := h.Name
	if h.Port != defaultPort {
		name = net.JoinHostPort(h.Name, strconv.Itoa(h.Port))
	}
	return h.User + "@" + name
}

// Address is what is dialled.
func (h *Host) Address() string { return net.JoinHostPort(h.Name, strconv.Itoa(h.Port)) }

// keyAddress is the name under which known_hosts has the host's key, with a port.
func (h *Host) keyAddress() string {
	if _, _, err := net.SplitHostPort(h.KeyAlias); err == nil {
		return h.KeyAlias // as it stands in the file
	}
	if h.KeyAlias != "" {
		return net.JoinHostPort(h.KeyAlias, strconv.Itoa(defaultPort))
	}
	return h.Address()
}

const defaultPort = 22

// settings are the configuration's words for one host, by lower-case key.
type settings map[string][]string

// first is the first value of a key, "" if there is none or it says none.
func (s settings) first(key string) string {
	if values := s[key]; len(values) > 0 && values[0] != "none" {
		return values[0]
	}
	return ""
}

// all are the values of a key without those that say none.
func (s settings) all(key string) []string {
	return slices.DeleteFunc(slices.Clone(s[key]), func(v string) bool { return v == "none" || v == "" })
}

func (s settings) yes(key string) bool { return s.first(key) == "yes" || s.first(key) == "true" }

// seconds reads a time as OpenSSH writes it: a number of seconds, or one with a unit.
func (s settings) seconds(key string) time.Duration {
	text := s.first(key)
	if n, err := strconv.Atoi(text); err == nil {
		return time.Duration(n) * time.Second
	}
	d, _ := time.ParseDuration(text)
	return d
}

// host makes a Host of what was configured.
func (o Options) host(s settings, source string) (*Host, error) {
	h := &Host{
		Alias: o.Host, Source: source,
		Name: cmp.Or(s.first("hostname"), o.Host),
		User: cmp.Or(o.User, s.first("user"), o.Env["USER"], o.Env["LOGNAME"], userName()),
		Port: o.Port, Command: s.first("proxycommand"), KeyAlias: s.first("hostkeyalias"),
		OnlyIdentities: s.yes("identitiesonly"), Checking: s.first("stricthostkeychecking"),
		ConnectTimeout: s.seconds("connecttimeout"), AliveInterval: s.seconds("serveraliveinterval"),
	}
	if h.Port == 0 {
		port, err := strconv.Atoi(cmp.Or(s.first("port"), strconv.Itoa(defaultPort)))
		if err != nil {
			return nil, fmt.Errorf("host %s: port %q of its configuration is no number", o.Host, s.first("port"))
		}
		h.Port = port
	}
	h.Name = strings.ReplaceAll(h.Name, "%h", o.Host)
	h.AliveCount, _ = strconv.Atoi(s.first("serveralivecountmax"))
	if jumps := s.first("proxyjump"); jumps != "" {
		h.Jumps = strings.Split(jumps, ",")
	}
	if list := s.first("hostkeyalgorithms"); list != "" {
		h.Algorithms = strings.Split(list, ",")
	}
	for _, file := range s.all("identityfile") {
		h.Identities = append(h.Identities, o.expand(file, h))
	}
	for _, file := range s.all("certificatefile") {
		h.Certificates = append(h.Certificates, o.expand(file, h))
	}
	for _, files := range slices.Concat(s.all("userknownhostsfile"), s.all("globalknownhostsfile")) {
		for file := range strings.FieldsSeq(files) {
			h.KnownHosts = append(h.KnownHosts, o.expand(file, h))
		}
	}
	h.Agent = o.agent(s, h)
	return h, nil
}

// agent is the socket of the agent that the configuration names, or the caller's.
func (o Options) agent(s settings, h *Host) string {
	switch named := s["identityagent"]; {
	case len(named) == 0 || named[0] == "SSH_AUTH_SOCK":
		return o.Env["SSH_AUTH_SOCK"]
	case named[0] == "none":
		return ""
	case strings.HasPrefix(named[0], "$"):
		return o.Env[strings.Trim(named[0], "${}")]
	default:
		return o.expand(named[0], h)
	}
}

// expand replaces ~ and the tokens that OpenSSH allows in the names of files.
func (o Options) expand(name string, h *Host) string {
	name = strings.Trim(name, `"`)
	home := o.home()
	if name == "~" || strings.HasPrefix(name, "~/") {
		name = filepath.Join(home, name[1:])
	}
	node, _ := os.Hostname()
	short, _, _ := strings.Cut(node, ".")
	return strings.NewReplacer(
		"%%", "%", "%d", home, "%h", h.Name, "%n", o.Host, "%p", strconv.Itoa(h.Port), "%r", h.User,
		"%u", userName(), "%i", strconv.Itoa(os.Getuid()), "%l", node, "%L", short, "%k", cmp.Or(h.KeyAlias, o.Host),
	).Replace(name)
}

// home is the caller's home directory.
func (o Options) home() string { return cmp.Or(o.Env["HOME"], o.Env["USERPROFILE"], passwordHome()) }
