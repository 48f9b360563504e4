package docker

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/docker/cli/cli/config/configfile"
	"github.com/docker/cli/cli/config/credentials"
	"github.com/docker/cli/cli/config/types"
	"github.com/docker/docker/api/types/registry"
)

// credentials are what the docker command has stored for a registry, encoded; "" if it has nothing. They
// are looked up as that does, but for its eye on the environment: the caller's is not this process's.
func (e *engine) credentials(ctx context.Context, host string) (string, error) {
	if host == "docker.io" {
		host = "https://index.docker.io/v1/" // under which that one is stored
	}
	auth, err := e.login(ctx, host)
	if err != nil {
		return "", fmt.Errorf("credentials for %s: %w", host, err)
	}
	if auth.Username == "" && auth.IdentityToken == "" && auth.RegistryToken == "" {
		return "", nil
	}
	return registry.EncodeAuthConfig(registry.AuthConfig(auth))
}

func (e *engine) login(ctx context.Context, host string) (types.AuthConfig, error) {
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
		return e.ask(ctx, name, host)
	}
	return credentials.NewFileStore(file).Get(host)
}
