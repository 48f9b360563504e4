package docker

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/docker/cli/cli/config/configfile"
	clicontext "github.com/docker/cli/cli/context"
	clidocker "github.com/docker/cli/cli/context/docker"
	"github.com/docker/cli/cli/context/store"
	"github.com/docker/docker/client"
	"github.com/docker/go-connections/tlsconfig"
)

// engine is a Docker Engine, or what speaks its API.
type engine struct {
	*client.Client
	host  string // its address
	local bool   // it may see the files of this machine

	configDir string // of the docker command
}

// connect finds the engine that the caller's docker command would use. It dials nothing yet.
func connect(env map[string]string) (*engine, error) {
	opts, host, err := endpoint(env)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(host, "ssh://") {
		return nil, fmt.Errorf("%s: engines are reached over unix and tcp sockets, not over ssh", host)
	}
	if v := env["DOCKER_API_VERSION"]; v != "" {
		opts = append(opts, client.WithVersion(strings.TrimPrefix(v, "v")))
	}
	c, err := client.NewClientWithOpts(append(opts, client.WithAPIVersionNegotiation())...)
	if err != nil {
		return nil, fmt.Errorf("engine at %s: %w", host, err)
	}
	local := strings.HasPrefix(host, "unix://") && runtime.GOOS == "linux"
	return &engine{Client: c, host: host, local: local, configDir: configDir(env)}, nil
}

// endpoint follows the order of the docker command: DOCKER_HOST, DOCKER_CONTEXT, the current context of
// its configuration, and the sockets where engines listen.
func endpoint(env map[string]string) (opts []client.Opt, host string, err error) {
	if host := env["DOCKER_HOST"]; host != "" {
		opts, err := withTLS(env, host)
		return opts, host, err
	}
	dir := configDir(env)
	name := env["DOCKER_CONTEXT"]
	if name == "" {
		file, err := configuration(dir)
		if err != nil {
			return nil, "", err
		}
		name = file.CurrentContext
	}
	if name != "" && name != "default" {
		return fromContext(dir, name)
	}
	host = socket(env)
	return []client.Opt{client.WithHost(host)}, host, nil
}

func configDir(env map[string]string) string {
	return cmp.Or(env["DOCKER_CONFIG"], filepath.Join(env["HOME"], ".docker"))
}

// withTLS follows DOCKER_TLS_VERIFY and DOCKER_CERT_PATH as the docker command does.
func withTLS(env map[string]string, host string) ([]client.Opt, error) {
	var opts []client.Opt
	if dir := env["DOCKER_CERT_PATH"]; dir != "" && !strings.HasPrefix(host, "unix://") {
		tls, err := tlsconfig.Client(tlsconfig.Options{
			CAFile: filepath.Join(dir, "ca.pem"), CertFile: filepath.Join(dir, "cert.pem"), KeyFile: filepath.Join(dir, "key.pem"),
			InsecureSkipVerify: env["DOCKER_TLS_VERIFY"] == "", ExclusiveRootPools: true,
		})
		if err != nil {
			return nil, fmt.Errorf("certificates in DOCKER_CERT_PATH %s: %w", dir, err)
		}
		opts = append(opts, client.WithHTTPClient(&http.Client{
			Transport: &http.Transport{TLSClientConfig: tls}, CheckRedirect: client.CheckRedirect,
		}))
	}
	return append(opts, client.WithHost(host)), nil
}

// configuration reads the docker command's own file. None is an empty one.
func configuration(dir string) (*configfile.ConfigFile, error) {
	name := filepath.Join(dir, "config.json")
	file := configfile.New(name)
	f, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
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
func fromContext(dir, name string) ([]client.Opt, string, error) {
	s := store.New(filepath.Join(dir, "contexts"), store.NewConfig(
		func() any { return &map[string]any{} },
		store.EndpointTypeGetter(clidocker.DockerEndpoint, func() any { return &clicontext.EndpointMetaBase{} }),
	))
	wrap := func(err error) error { return fmt.Errorf("docker context %q: %w", name, err) }
	meta, err := s.GetMetadata(name)
	switch {
	case errdefs.IsNotFound(err):
		return nil, "", wrap(errors.New("there is none of that name; docker context ls lists them"))
	case err != nil:
		return nil, "", wrap(err)
	}
	base, ok := meta.Endpoints[clidocker.DockerEndpoint].(clicontext.EndpointMetaBase)
	if !ok {
		return nil, "", wrap(errors.New("it leads to no Docker engine"))
	}
	if strings.HasPrefix(base.Host, "ssh://") {
		return nil, base.Host, nil // whose options would start an ssh command
	}
	ep, err := clidocker.WithTLSData(s, name, base)
	if err != nil {
		return nil, "", wrap(err)
	}
	opts, err := ep.ClientOpts()
	if err != nil {
		return nil, "", wrap(err)
	}
	return opts, base.Host, nil
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
	if home := env["HOME"]; home != "" {
		candidates = append(candidates, filepath.Join(home, ".docker/run/docker.sock"))
	}
	if run := env["XDG_RUNTIME_DIR"]; run != "" {
		candidates = append(candidates, filepath.Join(run, "podman/podman.sock"))
	}
	candidates = append(candidates, "/run/podman/podman.sock")
	for _, path := range candidates {
		if info, err := os.Stat(path); err == nil && info.Mode().Type() == os.ModeSocket {
			return (&url.URL{Scheme: "unix", Path: path}).String()
		}
	}
	return client.DefaultDockerHost
}

// explain names the engine that was tried, unless the error does.
func (e *engine) explain(err error) error {
	if strings.Contains(err.Error(), e.host) {
		return err
	}
	return fmt.Errorf("engine at %s: %w", e.host, err)
}
