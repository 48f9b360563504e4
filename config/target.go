package config

import (
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Target is the URL of the environment that the settings name, for the opener of its scheme. Dir is the
// working directory there; "" is the environment's own.
func (s Settings) Target(dir string) *url.URL {
	query := url.Values{}
	set := func(key, value string) {
		if value != "" {
			query.Set(key, value)
		}
	}
	set("mode", string(s.Mode))
	if set("python", s.Python); s.Python == "" && s.Mode == Strict {
		set("python", s.StrictPython)
	}
	u := &url.URL{Scheme: s.Backend}
	switch s.Backend {
	case "docker":
		set("dir", dir)
		maps.Copy(query, s.Docker.query())
		u.Opaque = (&url.URL{Path: s.Docker.made()}).EscapedPath()
	case "ssh":
		set("dir", dir)
		maps.Copy(query, s.SSH.query())
		u.Host, u.User = s.SSH.address()
	default:
		u.Path, u.OmitHost = filepath.ToSlash(dir), true
	}
	u.RawQuery = query.Encode()
	return u
}

// address is the host as a URL has it.
func (c SSH) address() (host string, user *url.Userinfo) {
	host = c.Host
	if strings.Contains(host, ":") {
		host = "[" + host + "]" // an IPv6 address
	}
	if c.Port != 0 {
		host += ":" + strconv.Itoa(c.Port)
	}
	if c.User != "" {
		user = url.User(c.User)
	}
	return host, user
}

// query is how the host is reached.
func (c SSH) query() url.Values {
	query := url.Values{}
	for key, value := range map[string]string{"key": c.Key, "host_key_checking": c.HostKeyChecking, "spool": c.Spool} {
		if value != "" {
			query.Set(key, value)
		}
	}
	return query
}

// Relative tells whether the environment depends on the caller's directory, although it is elsewhere.
func (s Settings) Relative() bool {
	if s.Backend != "docker" || s.Docker.Container != "" {
		return false
	}
	return s.Docker.MountCwd || slices.ContainsFunc(s.Docker.Volumes, func(volume string) bool {
		host, _, _ := strings.Cut(volume, ":")
		return strings.HasPrefix(host, ".") || strings.Contains(host, "/") && !strings.HasPrefix(host, "/") && !strings.HasPrefix(host, "~")
	})
}

// made is the image that a container is made from; one that is entered was made already.
func (d Docker) made() string {
	if d.Container != "" {
		return ""
	}
	return d.Image
}

// query is what containers are made with.
func (d Docker) query() url.Values {
	query := url.Values{}
	set := func(key, value string) {
		if value != "" {
			query.Set(key, value)
		}
	}
	set("user", d.User)
	if d.Container != "" {
		set("container", d.Container)
		return query
	}
	set("network", d.Network)
	set("runtime", d.Runtime)
	if len(d.Volumes) > 0 {
		query["volume"] = d.Volumes
	}
	if d.MountCwd {
		set("mount_cwd", "true")
	}
	if d.Memory > 0 {
		set("memory", strconv.FormatInt(d.Memory, 10))
	}
	if d.CPUs > 0 {
		set("cpus", strconv.FormatFloat(d.CPUs, 'f', -1, 64))
	}
	if d.PidsLimit > 0 {
		set("pids", strconv.FormatInt(d.PidsLimit, 10))
	}
	return query
}

// Environment returns what scripts get beyond the filter: the names of the caller's variables, which
// environ holds, to readmit, and the variables to set. In a container those of the settings for
// containers count too, and there a variable that is forwarded is stronger than one that is set. What
// --env says is the strongest.
func (s Settings) Environment(environ map[string]string) (passthrough []string, set map[string]string) {
	switch s.Backend {
	case "docker":
		passthrough, set = s.Docker.ForwardEnv, maps.Clone(s.Docker.Env)
	case "ssh":
		set = maps.Clone(s.SSH.Env)
	}
	maps.DeleteFunc(set, func(name, _ string) bool {
		_, has := environ[name]
		return has && slices.Contains(passthrough, name)
	})
	if set == nil {
		set = map[string]string{}
	}
	maps.Copy(set, s.EnvSet)
	return slices.Concat(passthrough, s.EnvPassthrough), set
}
