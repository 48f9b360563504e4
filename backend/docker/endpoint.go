package docker

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/docker/cli/cli/config/configfile"
	clicontext "github.com/docker/cli/cli/context"
	clidocker "github.com/docker/cli/cli/context/docker"
	"github.com/docker/cli/cli/context/store"
	"github.com/docker/cli/opts"
	"github.com/docker/docker/client"
	"github.com/docker/go-connections/tlsconfig"
)

// endpoint is where an engine listens.
type endpoint struct {
	host string      // unix://PATH, tcp://HOST:PORT, ssh://[USER@]HOST or npipe://PATH
	tls  *tls.Config // nil: none is spoken
}

// find follows the order of the docker command: DOCKER_HOST, DOCKER_CONTEXT, the current context of its
// configuration, and the sockets where engines listen. The caller's variables and working directory are
// all that counts.
func find(env map[string]string, dir string) (endpoint, error) {
	if env["DOCKER_HOST"] != "" {
		return fromHost(env, dir)
	}
	config := configDir(env, dir)
	name := env["DOCKER_CONTEXT"]
	if name == "" {
		file, err := configuration(config)
		if err != nil {
			return endpoint{}, err
		}
		name = file.CurrentContext
	}
	if name != "" && name != "default" {
		p, err := fromContext(config, name)
		if err != nil {
			return p, fmt.Errorf("docker context %q: %w", name, err)
		}
		return p, nil
	}
	return endpoint{host: socket(env)}, nil
}

// home is the caller's home directory; "" if there is none.
func home(env map[string]string) string {
	if runtime.GOOS == "windows" {
		return env["USERPROFILE"]
	}
	return env["HOME"]
}

// configDir is the directory of the docker command's configuration; "" if there is none. What lies in the
// caller's directory by chance is not it.
func configDir(env map[string]string, dir string) string {
	switch {
	case env["DOCKER_CONFIG"] != "":
		return within(dir, env["DOCKER_CONFIG"])
	case home(env) != "":
		return filepath.Join(home(env), ".docker")
	default:
		return ""
	}
}

// within is where a relative path leads from dir.
func within(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// fromHost reads DOCKER_HOST and the variables about TLS.
func fromHost(env map[string]string, dir string) (endpoint, error) {
	host, err := address(env["DOCKER_HOST"])
	if err != nil {
		return endpoint{}, fmt.Errorf("DOCKER_HOST: %w", err)
	}
	p := endpoint{host: host}
	verify := env["DOCKER_TLS_VERIFY"] != ""
	if !verify && env["DOCKER_TLS"] == "" && env["DOCKER_CERT_PATH"] == "" || !strings.HasPrefix(host, "tcp://") {
		return p, nil
	}
	certs := configDir(env, dir)
	if env["DOCKER_CERT_PATH"] != "" {
		certs = within(dir, env["DOCKER_CERT_PATH"])
	}
	data, err := certificates(certs)
	if err == nil {
		p.tls, err = trusting(data, !verify)
	}
	if err != nil {
		return endpoint{}, fmt.Errorf("engine at %s: certificates in %s: %w", host, certs, err)
	}
	return p, nil
}

// address completes an address as the docker command does, and refuses those that nobody can dial here.
func address(text string) (string, error) {
	host, err := opts.ParseHost(false, text)
	scheme, _, _ := strings.Cut(host, "://")
	switch {
	case err != nil, !slices.Contains([]string{"unix", "tcp", "ssh", "npipe"}, scheme), scheme == "npipe" && runtime.GOOS != "windows":
		return "", fmt.Errorf("%q is no address of an engine: give unix:///PATH, tcp://HOST:PORT or ssh://[USER@]HOST", text)
	}
	return host, nil
}

// certificates reads the files of DOCKER_CERT_PATH. Those that are not there are not needed.
func certificates(dir string) (*clicontext.TLSData, error) {
	if dir == "" {
		return &clicontext.TLSData{}, nil
	}
	read := func(name string) ([]byte, error) {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return data, err
	}
	ca, caErr := read("ca.pem")
	cert, certErr := read("cert.pem")
	key, keyErr := read("key.pem")
	return &clicontext.TLSData{CA: ca, Cert: cert, Key: key}, errors.Join(caErr, certErr, keyErr)
}

// trusting is what to speak with an engine that has a certificate of that authority, or of one that the
// system trusts, and wants to see one of ours.
func trusting(data *clicontext.TLSData, anybody bool) (*tls.Config, error) {
	cfg := tlsconfig.ClientDefault(func(c *tls.Config) { c.InsecureSkipVerify = anybody })
	if data.CA != nil {
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(data.CA) {
			return nil, errors.New("ca.pem holds no certificate")
		}
	}
	if data.Cert == nil && data.Key == nil {
		return cfg, nil
	}
	pair, err := tls.X509KeyPair(data.Cert, data.Key)
	if err != nil {
		return nil, fmt.Errorf("cert.pem and key.pem: %w", err)
	}
	cfg.Certificates = []tls.Certificate{pair}
	return cfg, nil
}

// configuration reads the docker command's own file. None is an empty one.
func configuration(dir string) (*configfile.ConfigFile, error) {
	name := filepath.Join(dir, "config.json")
	file := configfile.New(name)
	if dir == "" {
		return file, nil
	}
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return file, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := file.LoadFromReader(f); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return file, nil
}

// fromContext reads a context of the docker command's.
func fromContext(dir, name string) (endpoint, error) {
	if dir == "" {
		return endpoint{}, errors.New("there is no home directory, nor DOCKER_CONFIG, to find it in")
	}
	s := store.New(filepath.Join(dir, "contexts"), store.NewConfig(
		func() any { return &map[string]any{} },
		store.EndpointTypeGetter(clidocker.DockerEndpoint, func() any { return &clicontext.EndpointMetaBase{} }),
	))
	meta, err := s.GetMetadata(name)
	switch {
	case errdefs.IsNotFound(err):
		return endpoint{}, errors.New("there is none of that name; docker context ls lists them")
	case err != nil:
		return endpoint{}, err
	}
	base, ok := meta.Endpoints[clidocker.DockerEndpoint].(clicontext.EndpointMetaBase)
	if !ok || base.Host == "" {
		return endpoint{}, errors.New("it leads to no Docker engine")
	}
	host, err := address(base.Host)
	if err != nil {
		return endpoint{}, err
	}
	data, err := clicontext.LoadTLSData(s, name, clidocker.DockerEndpoint)
	if err != nil {
		return endpoint{}, err
	}
	p := endpoint{host: host}
	if data == nil && !base.SkipTLSVerify || !strings.HasPrefix(host, "tcp://") {
		return p, nil
	}
	if data == nil {
		data = &clicontext.TLSData{}
	}
	if p.tls, err = trusting(data, base.SkipTLSVerify); err != nil {
		return endpoint{}, fmt.Errorf("engine at %s: %w", host, err)
	}
	return p, nil
}

// socket is the first socket of an engine that is there, else the default one: the system's, that of a
// rootless engine, that of Docker Desktop, and Podman's.
func socket(env map[string]string) string {
	if runtime.GOOS == "windows" {
		return client.DefaultDockerHost
	}
	candidates := []string{strings.TrimPrefix(client.DefaultDockerHost, "unix://")}
	if run := env["XDG_RUNTIME_DIR"]; run != "" {
		candidates = append(candidates, filepath.Join(run, "docker.sock"))
	}
	if home := home(env); home != "" {
		candidates = append(candidates, filepath.Join(home, ".docker/run/docker.sock"))
	}
	if run := env["XDG_RUNTIME_DIR"]; run != "" {
		candidates = append(candidates, filepath.Join(run, "podman/podman.sock"))
	}
	candidates = append(candidates, "/run/podman/podman.sock")
	for _, path := range candidates {
		if info, err := os.Stat(path); err == nil && info.Mode().Type() == fs.ModeSocket {
			return "unix://" + path
		}
	}
	return client.DefaultDockerHost
}
