package docker

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/versions"
	"github.com/docker/docker/client"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/sshclient"
	"github.com/hermes-exec/hermes-exec/internal/terse"
)

// oldest is the first version of the API that has all that containers here are made with: an older one
// would leave out what it does not know, such as their removal, without a word.
const oldest = "1.30"

// engine is a Docker Engine, or what speaks its API.
type engine struct {
	*client.Client
	host  string // its address
	local bool   // it may see the files of this machine

	tunnel    *sshclient.Tunnel // to another machine; nil: it needs none
	env       map[string]string // the caller's
	configDir string            // of the docker command

	undialled atomic.Pointer[error] // why the last connection was not made, of which the client says little
}

// connect reaches the engine that the caller's docker command would use.
func connect(ctx context.Context, h Host) (*engine, error) {
	env, dir := h.Env, h.Dir
	p, err := find(env, dir)
	if err != nil {
		return nil, err
	}
	e := &engine{
		host: p.host, local: strings.HasPrefix(p.host, "unix://") && runtime.GOOS == "linux",
		env: env, configDir: configDir(env, dir),
	}
	version, err := apiVersion(env)
	if err != nil {
		return nil, err
	}
	called := p.host
	if strings.HasPrefix(p.host, "ssh://") {
		if e.tunnel, err = tunnel(ctx, h, p.host); err != nil {
			return nil, err
		}
		called = tunnelHost
	}
	e.Client, err = client.NewClientWithOpts(
		client.WithHost(called), e.dialling(p), client.WithVersion(version), client.WithAPIVersionNegotiation(),
	)
	if err != nil {
		return nil, errors.Join(e.explain(err), e.letGo())
	}
	if err := e.greet(ctx); err != nil {
		_ = e.Close()
		if ctx.Err() != nil {
			err = e.kept(ctx)
		}
		return nil, err
	}
	return e, nil
}

// Close lets go of the engine.
func (e *engine) Close() error { return errors.Join(e.Client.Close(), e.letGo()) }

// letGo closes the tunnel, if there is one.
func (e *engine) letGo() error {
	if e.tunnel == nil {
		return nil
	}
	return e.tunnel.Close()
}

// apiVersion is what DOCKER_API_VERSION demands; "" is what both sides speak.
func apiVersion(env map[string]string) (string, error) {
	v := strings.TrimPrefix(env["DOCKER_API_VERSION"], "v")
	if v != "" && !regexp.MustCompile(`^[0-9]+\.[0-9]+$`).MatchString(v) {
		return "", fmt.Errorf("DOCKER_API_VERSION: %q is no version of the API: give one like 1.41", v)
	}
	return v, nil
}

// dialling makes the client reach the endpoint by one way, for requests and for streams. By itself it
// has three: streams would not heed their context under TLS, and requests would take the proxy that the
// environment of this process names.
func (e *engine) dialling(p endpoint) client.Opt {
	return func(c *client.Client) error {
		t, ok := c.HTTPClient().Transport.(*http.Transport)
		if !ok {
			return errors.New("the client has another transport than it had")
		}
		plain := t.DialContext
		if e.tunnel != nil {
			plain = func(ctx context.Context, _, _ string) (net.Conn, error) { return e.tunnel.Dial(ctx) }
		}
		t.Proxy = nil
		t.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := plain(ctx, network, addr)
			if err == nil && p.tls != nil {
				conn, err = secure(ctx, conn, p.tls, addr)
			}
			switch {
			case err != nil:
				e.undialled.Store(&err)
			case ctx.Value(boundKey{}) != nil:
				context.AfterFunc(ctx, func() { _ = conn.Close() })
			}
			return conn, err
		}
		return nil
	}
}

// boundKey marks a context with which the connection ends that is made under it.
type boundKey struct{}

// bound is the context of a request whose connection becomes a stream. The client waits for the answer to
// that without an eye on the context.
func bound(ctx context.Context) context.Context { return context.WithValue(ctx, boundKey{}, true) }

// secure speaks TLS on a connection to addr.
func secure(ctx context.Context, conn net.Conn, cfg *tls.Config, addr string) (net.Conn, error) {
	cfg = cfg.Clone()
	cfg.ServerName, _, _ = net.SplitHostPort(addr)
	over := tls.Client(conn, cfg)
	if err := over.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return over, nil
}

// greet finds out whether the engine answers, and which version of the API both sides speak.
func (e *engine) greet(ctx context.Context) error {
	ping, err := e.Ping(ctx)
	if errdefs.IsInternal(err) {
		_, err = e.ServerVersion(ctx) // which has words for it, as the answer to a ping has not
	}
	if err != nil {
		return e.explain(err)
	}
	e.NegotiateAPIVersionPing(ping)
	if v := e.ClientVersion(); versions.LessThan(v, oldest) {
		return fmt.Errorf("engine at %s: version %s of its API is too old: %s is needed, which Docker 17.06 has", e.host, v, oldest)
	}
	return nil
}

// waitError is the end of a context, with what was waited for.
type waitError struct {
	what  string
	cause error
}

// Error tells both.
func (e *waitError) Error() string { return e.what + ": " + e.cause.Error() }

// Unwrap returns the cause of the end.
func (e *waitError) Unwrap() error { return e.cause }

// kept is the end of ctx, which came while the engine was at work.
func (e *engine) kept(ctx context.Context) error {
	return &waitError{"no answer yet from the engine at " + e.host, context.Cause(ctx)}
}

// explain names the engine that was tried, unless the error does, and the cause of what failed.
func (e *engine) explain(err error) error {
	if cause := e.undialled.Load(); cause != nil && client.IsErrConnectionFailed(err) {
		return e.unreached(*cause)
	}
	if strings.Contains(err.Error(), e.host) {
		return err
	}
	return fmt.Errorf("engine at %s: %w", e.host, err)
}

// unreached says what to do about an engine that nothing leads to.
func (e *engine) unreached(cause error) error {
	err := fmt.Errorf("cannot connect to the engine at %s: %w", e.host, terse.Dial(cause, e.host))
	switch {
	case errors.As(cause, new(*backend.AdviceError)): // of the way to it
		return err
	case errors.Is(cause, fs.ErrPermission):
		return backend.Advise(err, "join the group that may use it (docker, as a rule), or use a rootless engine")
	case errors.As(cause, new(*tls.CertificateVerificationError)):
		return backend.Advise(err, "put the authority that signed its certificate into ca.pem in DOCKER_CERT_PATH")
	}
	return backend.Advise(err, "start it, or say where another is: DOCKER_HOST, or docker context use NAME")
}
