package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/distribution/reference"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/registry"
)

// pull fetches an image, with the credentials that the docker command would use.
func (e *engine) pull(ctx context.Context, name string, progress func(string)) error {
	fail := func(err error) error {
		return fmt.Errorf("image %s is not at %s and could not be pulled: %w; name another with --image, or build it there", name, e.host, err)
	}
	if progress != nil {
		progress("pulling image " + name)
	}
	auth, err := e.credentials(name)
	if err != nil {
		return fail(err)
	}
	r, err := e.ImagePull(ctx, name, image.PullOptions{RegistryAuth: auth})
	if err != nil {
		return fail(err)
	}
	defer r.Close()
	if err := follow(r, progress); err != nil {
		return fail(err)
	}
	return nil
}

// follow reads the engine's account of a pull to its end.
func follow(r io.Reader, progress func(string)) error {
	for d := json.NewDecoder(r); ; {
		var line struct {
			ID, Status, Error string
			Progress          string
		}
		switch err := d.Decode(&line); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case line.Error != "":
			return errors.New(line.Error)
		case progress != nil && line.ID != "":
			progress(fmt.Sprintf("%s: %s %s", line.ID, line.Status, line.Progress))
		}
	}
}

// credentials are what the docker command has stored for the registry of an image, encoded; "" if it has
// nothing.
func (e *engine) credentials(name string) (string, error) {
	ref, err := reference.ParseNormalizedNamed(name)
	if err != nil {
		return "", err
	}
	file, err := configuration(e.configDir)
	if err != nil {
		return "", err
	}
	host := reference.Domain(ref)
	if host == "docker.io" {
		host = "https://index.docker.io/v1/" // under which that one is stored
	}
	auth, err := file.GetAuthConfig(host)
	if err != nil || auth.Username == "" && auth.IdentityToken == "" && auth.RegistryToken == "" {
		return "", err
	}
	return registry.EncodeAuthConfig(registry.AuthConfig(auth))
}
