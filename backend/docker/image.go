package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/distribution/reference"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/go-units"

	"github.com/hermes-exec/hermes-exec/backend"
)

// pull fetches an image, with the credentials that the docker command would use. Progress is told of it
// until it is over.
func (e *engine) pull(ctx context.Context, name string, progress func(string)) error {
	if progress == nil {
		progress = func(string) {}
	}
	defer progress("")
	progress("pulling image " + name)
	err := e.fetch(ctx, name, progress)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return &waitError{"the engine at " + e.host + " was pulling it", context.Cause(ctx)}
	default:
		err = fmt.Errorf("it is not at %s and could not be pulled: %w", e.host, err)
		return backend.Advise(err, "name another with --image, or build it there")
	}
}

func (e *engine) fetch(ctx context.Context, name string, progress func(string)) error {
	ref, err := reference.ParseNormalizedNamed(name)
	if err != nil {
		return err
	}
	auth, err := e.credentials(ctx, reference.Domain(ref))
	if err != nil {
		return err
	}
	r, err := e.ImagePull(ctx, name, image.PullOptions{RegistryAuth: auth})
	if err != nil {
		return err
	}
	defer r.Close()
	layers := layers{}
	for d := json.NewDecoder(r); ; {
		var l line
		switch err := d.Decode(&l); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case l.Error != "":
			return errors.New(l.Error)
		}
		if layers.take(l) {
			progress("pulling image " + name + ": " + layers.String())
		}
	}
}

// line is one of the engine's account of a pull.
type line struct {
	ID             string
	Status         string
	Error          string
	ProgressDetail struct{ Current int64 }
}

// layers are those of an image that is being pulled, by their ids.
type layers map[string]*layer

type layer struct {
	got  int64 // bytes
	done bool
}

// take heeds a line, and tells whether that is about a layer.
func (s layers) take(l line) bool {
	switch l.Status {
	case "Pulling fs layer":
		s[l.ID] = &layer{}
	case "Already exists":
		s[l.ID] = &layer{done: true}
	}
	known := s[l.ID]
	if known == nil {
		return false
	}
	switch l.Status {
	case "Downloading":
		known.got = l.ProgressDetail.Current
	case "Pull complete":
		known.done = true
	}
	return true
}

// String says how far the layers are.
func (s layers) String() string {
	done, got := 0, int64(0)
	for _, l := range s {
		got += l.got
		if l.done {
			done++
		}
	}
	return fmt.Sprintf("%d of %d layers, %s", done, len(s), units.HumanSize(float64(got)))
}
