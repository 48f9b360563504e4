package docker

import (
	"cmp"
	"fmt"
	"maps"
	"strings"

	"github.com/docker/cli/cli/config/configfile"
	"github.com/docker/cli/cli/config/credentials"
	"github.com/docker/cli/cli/config/types"
	helper "github.com/docker/docker-credential-helpers/client"
	helpers "github.com/docker/docker-credential-helpers/credentials"
	"github.com/docker/docker/api/types/registry"
)

// credentials are what the docker command has stored for a registry, encoded; "" if it has nothing. They
// are looked up as that does, but for its eye on the environment: the caller's is not this process's.
func (e *engine) credentials(host string) (string, error) {
	if host == "docker.io" {
		host = "https://index.docker.io/v1/" // under which that one is stored
	}
	auth, err := e.login(host)
	if err != nil {
		return "", fmt.Errorf("credentials for %s: %w", host, err)
	}
	if auth.Username == "" && auth.IdentityToken == "" && auth.RegistryToken == "" {
		return "", nil
	}
	return registry.EncodeAuthConfig(registry.AuthConfig(auth))
}

func (e *engine) login(host string) (types.AuthConfig, error) {
	if text := e.env["DOCKER_AUTH_CONFIG"]; text != "" {
		file := configfile.New("")
		if err := file.LoadFromReader(strings.NewReader(text)); err != nil {
			return types.AuthConfig{}, fmt.Errorf("DOCKER_AUTH_CONFIG: %w", err)
		}
		if auth, known := file.AuthConfigs[host]; known {
			return auth, nil
		}
	}
	file, err := configuration(e.configDir)
	if err != nil {
		return types.AuthConfig{}, err
	}
	if name := cmp.Or(file.CredentialHelpers[host], file.CredentialsStore); name != "" {
		return e.ask(name, host)
	}
	return credentials.NewFileStore(file).Get(host)
}

// ask has a credential helper of the docker command's say what it knows. It runs with the caller's
// variables.
func (e *engine) ask(name, host string) (types.AuthConfig, error) {
	vars := maps.Clone(e.env)
	got, err := helper.Get(helper.NewShellProgramFuncWithEnv("docker-credential-"+name, &vars), host)
	switch {
	case helpers.IsErrCredentialsNotFound(err):
		return types.AuthConfig{}, nil
	case err != nil:
		return types.AuthConfig{}, fmt.Errorf("docker-credential-%s: %w", name, err)
	case got.Username == "<token>":
		return types.AuthConfig{ServerAddress: host, IdentityToken: got.Secret}, nil
	}
	return types.AuthConfig{ServerAddress: host, Username: got.Username, Password: got.Secret}, nil
}
