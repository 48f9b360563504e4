package docker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/api/types/system"
	"github.com/docker/go-units"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/guest"
	"github.com/hermes-exec/hermes-exec/internal/owner"
)

// ownerLabel says whose a container is, as package owner writes it: prune finds it by that.
const ownerLabel = "hermes-exec.owner"

// temp is the container's temporary directory, in memory: the root file system may be read-only.
const temp = "/tmp"

// minTemp is the least room, in bytes, that the temporary directory gets: the scratch is in it.
const minTemp = 16 << 20

// tmpfs are the options of the temporary directory where the container may use so much memory; 0: any.
// It is full before the memory is: a file that is too large is an error of who writes it, and ends no
// process.
func tmpfs(memory int64) string {
	options := "rw,exec,nosuid,nodev,mode=1777"
	if memory > 0 {
		options += fmt.Sprintf(",size=%d", max(memory/2, minTemp))
	}
	return options
}

// spec is a container to make.
type spec struct {
	name     string
	config   container.Config
	host     container.HostConfig
	meeting  *meeting // nil: no directory is shared with the host
	agent    func(l link) guest.Options
	warnings []string
}

// spec describes the container that runs interpreter as the agent, hardened as far as that breaks no
// script: it has no capability and cannot gain any.
func (c Config) spec(interpreter string, mounts []mount.Mount, meet *meeting) *spec {
	init := true
	s := &spec{name: "hermes-exec-" + strings.ToLower(rand.Text()[:12]), agent: c.agent}
	s.config = container.Config{
		Image: c.Image, User: c.User,
		Entrypoint: guest.Argv(interpreter), // the image's own would be in the way
		Cmd:        []string{},
		OpenStdin:  true, StdinOnce: true, AttachStdin: true, AttachStdout: true, AttachStderr: true,
		Labels:      map[string]string{ownerLabel: owner.Self().String()},
		Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
	}
	s.host = container.HostConfig{
		AutoRemove: true, Init: &init,
		NetworkMode: container.NetworkMode(c.network()), Runtime: c.Runtime,
		CapDrop: []string{"ALL"}, SecurityOpt: []string{"no-new-privileges"},
		LogConfig: container.LogConfig{Type: "none"}, // or the engine would write the agent's stream to its disk
		Mounts:    mounts,
		Resources: container.Resources{Memory: c.Memory, MemorySwap: c.Memory, NanoCPUs: int64(c.CPUs * 1e9)},
	}
	if c.Pids > 0 {
		s.host.PidsLimit = &c.Pids
	}
	if !slices.ContainsFunc(mounts, func(m mount.Mount) bool { return m.Target == temp }) {
		s.host.Tmpfs = map[string]string{temp: tmpfs(c.Memory)}
	}
	if meet.mountable() {
		s.meeting = meet
		s.host.Mounts = append(slices.Clone(mounts), mount.Mount{Type: mount.TypeBind, Source: meet.host, Target: meetingDir})
	}
	return s
}

// limits says what the container may use: what the engine sets, which may be less than was asked for.
func (s *spec) limits() string {
	list := []string{}
	add := func(format string, limit any, is bool) {
		if is {
			list = append(list, fmt.Sprintf(format, limit))
		}
	}
	h := s.host
	add("%s of memory", units.BytesSize(float64(h.Memory)), h.Memory > 0)
	add("%g processors", float64(h.NanoCPUs)/1e9, h.NanoCPUs > 0)
	if h.PidsLimit != nil {
		add("%d processes", *h.PidsLimit, true)
	}
	add("network %s", h.NetworkMode, true)
	add("runtime %s", h.Runtime, h.Runtime != "")
	return "limits: " + strings.Join(list, ", ")
}

// narrow adds its limit to the error of a container that ran out of memory before it could be used: in its
// agent's start, or in what the agent was asked for first.
func (s *spec) narrow(err error) error {
	exit, ok := errors.AsType[*backend.ExitError](err)
	if !ok || !exit.OOMKilled || s.host.Memory == 0 {
		return err
	}
	return backend.Advise(err, "it may use %s of memory: --memory gives it more", units.BytesSize(float64(s.host.Memory)))
}

func (c Config) network() string {
	if c.Network == "" {
		return "none"
	}
	return c.Network
}

// asCaller gives the container the caller's identity where it gets a directory of his, so that the
// files it makes there are his too. A rootless engine does so by itself.
func (c *Config) asCaller(ctx context.Context, e *engine) error {
	uid := os.Getuid()
	if c.User != "" || uid < 0 || !e.local {
		return nil
	}
	info, err := e.Info(ctx)
	if err != nil {
		return e.explain(err)
	}
	if !slices.Contains(info.SecurityOptions, "name=rootless") {
		c.User = fmt.Sprintf("%d:%d", uid, os.Getgid())
	}
	return nil
}

// createWait bounds the wait for a container that nobody wants any more: it takes the engine less than
// 100 ms to make one.
const createWait = 3 * time.Second

// ask has the engine make the container. One that comes too late is removed: an engine goes on with what it
// has begun, and a container that was never started removes itself never.
func (s *spec) ask(ctx context.Context, e *engine) (container.CreateResponse, error) {
	type answer struct {
		container.CreateResponse
		err error
	}
	asking, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	answers := make(chan answer, 1)
	go func() {
		r, err := e.ContainerCreate(asking, &s.config, &s.host, nil, nil, s.name)
		answers <- answer{r, err}
	}()
	select {
	case a := <-answers:
		return a.CreateResponse, a.err
	case <-ctx.Done():
	}
	err := context.Cause(ctx)
	select {
	case a := <-answers:
		if a.err == nil {
			err = errors.Join(err, e.remove(asking, a.ID))
		}
	case <-time.After(createWait):
	}
	return container.CreateResponse{}, err
}

// create makes the container, and pulls its image if it is missing.
func (s *spec) create(ctx context.Context, e *engine, progress func(string)) (id string, err error) {
	for pulled := false; ; {
		r, err := s.ask(ctx, e)
		switch {
		case err == nil:
			s.warnings = append(s.warnings, enforced(r.Warnings)...)
			return r.ID, nil
		case errdefs.IsNotFound(err) && !pulled && strings.Contains(err.Error(), "image"):
			if err := e.pull(ctx, s.config.Image, progress); err != nil {
				return "", err
			}
			pulled = true
		case s.meeting != nil && strings.Contains(err.Error(), s.meeting.host):
			s.host.Mounts = s.host.Mounts[:len(s.host.Mounts)-1]
			s.meeting.refused(err)
			s.meeting = nil
		default:
			return "", advised(e.explain(err))
		}
	}
}

// advised adds to what an engine says of a container that it does not make what may be asked for instead.
// It tells by the words, for the API has one status for all that is wrong with a request.
func advised(err error) error {
	text := err.Error()
	for _, advice := range []struct{ said, next string }{
		{"bind source path does not exist", "make that directory, or mount another: --volume"},
		{"invalid reference format", "an image is called NAME[:TAG], or HOST/NAME[:TAG]: --image"},
		{"unable to find user", "name one that the image has, or a number: --user"},
	} {
		if strings.Contains(text, advice.said) {
			return backend.Advise(err, "%s", advice.next)
		}
	}
	if strings.Contains(text, "network ") && strings.Contains(text, "not found") {
		return backend.Advise(err, "docker network ls lists those that are there: --network")
	}
	return err
}

// enforced makes what the engine says of its limits a warning of the result.
func enforced(warnings []string) []string {
	var list []string
	for _, w := range warnings {
		if w = strings.TrimSpace(w); w != "" {
			list = append(list, "the engine says: "+w)
		}
	}
	return list
}

// unlimited takes out the limits that the engine says it cannot set, and tells whether there were any:
// rootless engines and containers in containers often lack some controllers.
func (s *spec) unlimited(info system.Info) bool {
	r, dropped := &s.host.Resources, []string{}
	if all := int64(info.NCPU) * 1e9; all > 0 && r.NanoCPUs > all {
		r.NanoCPUs = all // which is no less than what was asked for
		return true
	}
	if !info.MemoryLimit && r.Memory > 0 {
		r.Memory, r.MemorySwap = 0, 0
		dropped = append(dropped, "memory")
	}
	if !info.CPUCfsQuota && r.NanoCPUs > 0 {
		r.NanoCPUs = 0
		dropped = append(dropped, "cpus")
	}
	if !info.PidsLimit && r.PidsLimit != nil {
		r.PidsLimit = nil
		dropped = append(dropped, "processes")
	}
	if len(dropped) > 0 {
		s.warnings = append(s.warnings, "the engine cannot limit "+strings.Join(dropped, ", ")+" here: the container runs without")
	}
	return len(dropped) > 0
}

// start makes and starts the container and opens the agent in it. A start that fails for a limit that the
// engine cannot set is tried once more without.
func (s *spec) start(ctx context.Context, e *engine, progress func(string)) (link, *guest.Guest, error) {
	l, g, err := s.startOnce(ctx, e, progress)
	if err == nil || !ofLimit(err) {
		return l, g, err
	}
	info, infoErr := e.Info(ctx)
	if infoErr != nil || !s.unlimited(info) {
		return l, g, err
	}
	return s.startOnce(ctx, e, progress)
}

// ofLimit tells whether the engine refuses a container for one of its limits.
func ofLimit(err error) bool {
	return slices.ContainsFunc([]string{"cgroup", "controller", "Range of CPUs"}, func(word string) bool {
		return strings.Contains(err.Error(), word)
	})
}

// startOnce returns a nil link unless the container has run.
func (s *spec) startOnce(ctx context.Context, e *engine, progress func(string)) (link, *guest.Guest, error) {
	id, err := s.create(ctx, e, progress)
	if err != nil {
		return nil, nil, err
	}
	p, err := attach(ctx, e, id)
	if err != nil {
		return nil, nil, errors.Join(e.explain(err), e.remove(context.WithoutCancel(ctx), id))
	}
	// Beside each other: the agent boots while the engine still puts down that it has started.
	started := make(chan error, 1)
	go func() {
		err := e.ContainerStart(ctx, id, container.StartOptions{})
		if err != nil {
			p.abandon()
		}
		started <- err
	}()
	opt := s.agent(p)
	if s.host.Tmpfs[temp] != "" {
		opt.Volatile = temp
	}
	g, err := guest.Open(ctx, p, opt)
	if failed := <-started; failed != nil {
		return nil, nil, errors.Join(advised(e.explain(failed)), p.disposed())
	}
	return p, g, err
}

// removeWait bounds the removal of a container.
const removeWait = 10 * time.Second

// remove kills and removes a container. One that is gone is no error.
func (e *engine) remove(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, removeWait)
	defer cancel()
	err := e.kill(ctx, id)
	switch {
	case err == nil || errdefs.IsNotFound(err):
		return nil
	case errdefs.IsConflict(err): // it is being removed
		return e.awaitRemoval(id)
	}
	return fmt.Errorf("remove container %.12s: %w", id, e.explain(err))
}

// kill asks for a removal, whatever the container does.
func (e *engine) kill(ctx context.Context, id string) error {
	return e.ContainerRemove(ctx, id, container.RemoveOptions{Force: true, RemoveVolumes: true})
}

// askAgain is how long one question after the end of a container waits. Engines forget one that is asked in
// the very moment of the removal (seen with 20.10, whose State.SetRemovalError wakes only those that wait
// already); asked again, they know no such container.
const askAgain = time.Second

// awaitRemoval waits until a container is gone that removes itself. One that somebody has restarted in the
// meantime does not, and is removed: what runs there waits for a host that does not know of it.
func (e *engine) awaitRemoval(id string) error {
	ctx, cancel := context.WithTimeout(context.Background(), removeWait)
	defer cancel()
	for {
		err := e.removed(ctx, id)
		switch {
		case err == nil || errdefs.IsNotFound(err):
			return nil
		case ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded):
			return fmt.Errorf("wait for the removal of container %.12s: %w", id, e.explain(err))
		case e.runs(ctx, id):
			_ = e.kill(ctx, id) // the next question tells whether that did it
		}
	}
}

// runs tells whether a container that had ended runs again.
func (e *engine) runs(ctx context.Context, id string) bool {
	c, err := e.ContainerInspect(ctx, id)
	return err == nil && c.State != nil && c.State.Running
}

// removed asks once for the removal of a container.
func (e *engine) removed(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, askAgain)
	defer cancel()
	removed, failed := e.ContainerWait(ctx, id, container.WaitConditionRemoved)
	select {
	case <-removed:
		return nil
	case err := <-failed:
		return err
	}
}
