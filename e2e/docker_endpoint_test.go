//go:build unix

package e2e

import (
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/backend/docker"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// write makes a file, and its directory.
func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// context makes a context of the docker command's, by that command, for a caller who has no DOCKER_HOST
// any more.
func (c *caller) context(t *testing.T, name, endpoint string) {
	t.Helper()
	delete(c.env, "DOCKER_HOST")
	c.docker(t, "context", "create", name, "--docker", endpoint)
}

// docker runs Docker's own program as the caller.
func (c *caller) docker(t *testing.T, args ...string) {
	t.Helper()
	cmd := c.command(t)
	cmd.Path, cmd.Args = testenv.Require(t, "docker"), append([]string{"docker"}, args...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("docker %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// TestDockerEndpoints reaches the engine by every way that leads to one. Tool calls work over each.
func TestDockerEndpoints(t *testing.T) {
	e := engine(t)
	const code = "from hermes_tools import write_file, read_file\n" +
		"write_file('/tmp/x', 'there and back'); print(read_file('/tmp/x')['content'])"
	for name, lead := range map[string]func(*testing.T, *caller) *proxy{
		"unix": func(t *testing.T, c *caller) *proxy {
			p := relay(t, e, listenUnix(t, filepath.Join(c.dir, "a b/docker.sock")), 0)
			c.env["DOCKER_HOST"] = p.host
			return p
		},
		"tcp": func(t *testing.T, c *caller) *proxy {
			p := relay(t, e, listenTCP(t), 0)
			c.env["DOCKER_HOST"] = p.host
			return p
		},
		"tcp without a scheme": func(t *testing.T, c *caller) *proxy {
			p := relay(t, e, listenTCP(t), 0)
			c.env["DOCKER_HOST"] = strings.TrimPrefix(p.host, "tcp://")
			return p
		},
		"TLS with certificates of both sides": func(t *testing.T, c *caller) *proxy {
			a := newAuthority(t)
			p := relay(t, e, a.over(t, listenTCP(t), true), 0)
			a.files(t, filepath.Join(c.dir, "certs"))
			c.env["DOCKER_HOST"], c.env["DOCKER_TLS_VERIFY"], c.env["DOCKER_CERT_PATH"] = p.host, "1", "certs"
			return p
		},
		"TLS with certificates of the docker command's directory": func(t *testing.T, c *caller) *proxy {
			a := newAuthority(t)
			p := relay(t, e, a.over(t, listenTCP(t), true), 0)
			a.files(t, filepath.Join(c.env["HOME"], ".docker"))
			c.env["DOCKER_HOST"], c.env["DOCKER_TLS_VERIFY"] = p.host, "1"
			return p
		},
		"TLS with an engine that anybody may use": func(t *testing.T, c *caller) *proxy {
			a := newAuthority(t)
			p := relay(t, e, a.over(t, listenTCP(t), false), 0)
			a.files(t, c.dir)
			for _, name := range []string{"cert.pem", "key.pem"} {
				if err := os.Remove(filepath.Join(c.dir, name)); err != nil {
					t.Fatal(err)
				}
			}
			c.env["DOCKER_HOST"], c.env["DOCKER_TLS_VERIFY"], c.env["DOCKER_CERT_PATH"] = p.host, "1", c.dir
			return p
		},
		"TLS with an engine that nobody verifies": func(t *testing.T, c *caller) *proxy {
			p := relay(t, e, newAuthority(t).over(t, listenTCP(t), false), 0)
			newAuthority(t).files(t, c.dir)
			c.env["DOCKER_HOST"], c.env["DOCKER_CERT_PATH"] = p.host, c.dir
			return p
		},
		"DOCKER_CONTEXT": func(t *testing.T, c *caller) *proxy {
			p := relay(t, e, listenTCP(t), 0)
			c.context(t, "there", "host="+p.host)
			c.env["DOCKER_CONTEXT"] = "there"
			return p
		},
		"the current context": func(t *testing.T, c *caller) *proxy {
			c.env["DOCKER_CONFIG"] = "config" // where the caller is
			p := relay(t, e, listenUnix(t, filepath.Join(c.dir, "docker.sock")), 0)
			c.context(t, "there", "host="+p.host)
			c.docker(t, "context", "use", "there")
			return p
		},
		"a context with TLS": func(t *testing.T, c *caller) *proxy {
			a := newAuthority(t)
			p := relay(t, e, a.over(t, listenTCP(t), true), 0)
			a.files(t, c.dir)
			c.context(t, "there", "host="+p.host+",ca=ca.pem,cert=cert.pem,key=key.pem")
			c.env["DOCKER_CONTEXT"] = "there"
			return p
		},
		"a context that does not verify": func(t *testing.T, c *caller) *proxy {
			p := relay(t, e, newAuthority(t).over(t, listenTCP(t), false), 0)
			c.context(t, "there", "host="+p.host+",skip-tls-verify=true")
			c.env["DOCKER_CONTEXT"] = "there"
			return p
		},
		"DOCKER_HOST before a context": func(t *testing.T, c *caller) *proxy {
			p := relay(t, e, listenTCP(t), 0)
			c.context(t, "other", "host=tcp://127.0.0.1:1")
			c.env["DOCKER_CONTEXT"], c.env["DOCKER_HOST"] = "other", p.host
			return p
		},
		"DOCKER_CONTEXT before the current one": func(t *testing.T, c *caller) *proxy {
			p := relay(t, e, listenTCP(t), 0)
			c.context(t, "there", "host="+p.host)
			c.context(t, "other", "host=tcp://127.0.0.1:1")
			c.docker(t, "context", "use", "other")
			c.env["DOCKER_CONTEXT"] = "there"
			return p
		},
		"B101 an engine that is slow": func(t *testing.T, c *caller) *proxy {
			p := relay(t, e, listenTCP(t), time.Second/2)
			c.env["DOCKER_HOST"] = p.host
			return p
		},
		"an engine of a later version": func(t *testing.T, c *caller) *proxy {
			p := claiming(t, e, "1.60")
			c.env["DOCKER_HOST"] = p.host
			return p
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCaller(t, e)
			p := lead(t, c)
			c.script(t, code, "--image", e.Image).prints(t, "there and back\n")
			if p.dialled.Load() == 0 {
				t.Error("another engine was used")
			}
		})
	}
}

// TestDockerSockets finds the sockets of engines that no variable leads to. The system's own is hidden
// from the program, as it is not there on the machines that have such engines.
func TestDockerSockets(t *testing.T) {
	e := engine(t)
	if os.Geteuid() != 0 {
		testenv.Missing(t, "root", "only root can hide the engine's socket from the program")
	}
	unshare := testenv.Require(t, "unshare")
	for _, socket := range []string{"run/docker.sock", ".docker/run/docker.sock", "run/podman/podman.sock"} {
		t.Run(socket, func(t *testing.T) {
			t.Parallel()
			c := newCaller(t, e)
			delete(c.env, "DOCKER_HOST")
			c.env["XDG_RUNTIME_DIR"] = filepath.Join(c.env["HOME"], "run")
			p := relay(t, e, listenUnix(t, filepath.Join(c.env["HOME"], socket)), 0)
			if !strings.HasPrefix(socket, ".docker") {
				// Who has no home has no configuration, whatever lies in the directory.
				delete(c.env, "HOME")
				write(t, filepath.Join(c.dir, ".docker/config.json"), `{"currentContext": "nowhere"}`)
			}
			c.wrap = []string{unshare, "--mount", "sh", "-c", `[ ! -e /var/run/docker.sock ] || mount --bind /dev/null /var/run/docker.sock; exec "$@"`, "sh"}
			c.script(t, "print('there')", "--image", e.Image).prints(t, "there\n")
			if p.dialled.Load() == 0 {
				t.Error("another engine was used")
			}
		})
	}
}

// TestDockerEngineFails looks at what is said of an engine that cannot be used.
func TestDockerEngineFails(t *testing.T) {
	e := engine(t)
	const failed = 125
	silent := func(t *testing.T) string {
		l := listenTCP(t)
		serve(t, l, func(_ net.Conn, over <-chan struct{}) { <-over })
		return hostOf(l)
	}
	for name, fail := range map[string]func(*testing.T, *caller) []string{
		"B101 no socket": func(_ *testing.T, c *caller) []string {
			c.env["DOCKER_HOST"] = "unix:///nowhere/docker.sock"
			return []string{"cannot connect to the engine at unix:///nowhere/docker.sock:", "no such file or directory"}
		},
		"nobody listens": func(t *testing.T, c *caller) []string {
			l := listenTCP(t)
			_ = l.Close()
			c.env["DOCKER_HOST"] = hostOf(l)
			return []string{"cannot connect to the engine at " + hostOf(l) + ":", "connection refused"}
		},
		"B101 no permission": func(t *testing.T, c *caller) []string {
			p := relay(t, e, listenUnix(t, filepath.Join(c.dir, "docker.sock")), 0)
			if err := os.Chmod(strings.TrimPrefix(p.host, "unix://"), 0o600); err != nil {
				t.Fatal(err)
			}
			c.become(t, 12345, 12345)
			c.env["DOCKER_HOST"] = p.host
			return []string{"cannot connect to the engine at " + p.host + ":", "permission denied"}
		},
		"no address": func(_ *testing.T, c *caller) []string {
			c.env["DOCKER_HOST"] = "http://far:2375"
			return []string{`DOCKER_HOST: "http://far:2375" is no address of an engine`, "tcp://HOST:PORT"}
		},
		"no such context": func(_ *testing.T, c *caller) []string {
			delete(c.env, "DOCKER_HOST")
			c.env["DOCKER_CONTEXT"] = "nowhere"
			return []string{`docker context "nowhere": there is none of that name`, "docker context ls"}
		},
		"no home": func(_ *testing.T, c *caller) []string {
			delete(c.env, "DOCKER_HOST")
			delete(c.env, "HOME")
			c.env["DOCKER_CONTEXT"] = "there"
			return []string{`docker context "there": there is no home directory`}
		},
		"a broken configuration": func(t *testing.T, c *caller) []string {
			delete(c.env, "DOCKER_HOST")
			name := filepath.Join(c.env["HOME"], ".docker/config.json")
			write(t, name, `{"currentContext": 7}`)
			return []string{name}
		},
		"TLS with an engine of another authority": func(t *testing.T, c *caller) []string {
			l := newAuthority(t).over(t, listenTCP(t), false)
			relay(t, e, l, 0)
			newAuthority(t).files(t, c.dir)
			c.env["DOCKER_HOST"], c.env["DOCKER_TLS_VERIFY"], c.env["DOCKER_CERT_PATH"] = hostOf(l), "1", c.dir
			return []string{"cannot connect to the engine at " + hostOf(l) + ":", "certificate signed by unknown authority"}
		},
		"TLS without the certificate that is wanted": func(t *testing.T, c *caller) []string {
			a := newAuthority(t)
			l := a.over(t, listenTCP(t), true)
			relay(t, e, l, 0)
			a.files(t, c.dir)
			for _, name := range []string{"cert.pem", "key.pem"} {
				if err := os.Remove(filepath.Join(c.dir, name)); err != nil {
					t.Fatal(err)
				}
			}
			c.env["DOCKER_HOST"], c.env["DOCKER_TLS_VERIFY"], c.env["DOCKER_CERT_PATH"] = hostOf(l), "1", c.dir
			return []string{"engine at " + hostOf(l) + ":", "certificate required"}
		},
		"TLS with a broken certificate": func(t *testing.T, c *caller) []string {
			write(t, filepath.Join(c.dir, "ca.pem"), "rubbish")
			c.env["DOCKER_HOST"], c.env["DOCKER_TLS_VERIFY"], c.env["DOCKER_CERT_PATH"] = "tcp://127.0.0.1:1", "1", c.dir
			return []string{"engine at tcp://127.0.0.1:1: certificates in " + c.dir + ": ca.pem holds no certificate"}
		},
		"no TLS where it is wanted": func(t *testing.T, c *caller) []string {
			p := answering(t, newAuthority(t).over(t, listenTCP(t), false), http.NotFoundHandler())
			c.env["DOCKER_HOST"] = p.host
			return []string{"engine at " + p.host + ":", "HTTP request to an HTTPS server"}
		},
		"an engine that forbids": func(t *testing.T, c *caller) []string {
			p := refusing(t, 403, "authorization denied by plugin")
			c.env["DOCKER_HOST"] = p.host
			return []string{"engine at " + p.host + ":", "authorization denied by plugin"}
		},
		"an engine that is broken": func(t *testing.T, c *caller) []string {
			p := refusing(t, 500, "the disk is full")
			c.env["DOCKER_HOST"] = p.host
			return []string{"engine at " + p.host + ":", "the disk is full"}
		},
		"an engine that is too old": func(t *testing.T, c *caller) []string {
			p := claiming(t, e, "1.24")
			c.env["DOCKER_HOST"] = p.host
			return []string{"engine at " + p.host + ":", "version 1.24 of its API is too old"}
		},
		"a version that nobody speaks": func(_ *testing.T, c *caller) []string {
			c.env["DOCKER_API_VERSION"] = "1.999"
			return []string{"engine at " + e.Endpoint + ":", "1.999 is too new"}
		},
		"no version": func(_ *testing.T, c *caller) []string {
			c.env["DOCKER_API_VERSION"] = "new"
			return []string{`DOCKER_API_VERSION: "new" is no version of the API`}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCaller(t, e)
			parts := fail(t, c)
			c.script(t, "print('here')", "--image", e.Image).complains(t, failed, parts...)
		})
	}

	t.Run("B101 an engine that never answers", func(t *testing.T) {
		t.Parallel()
		c := newCaller(t, e)
		c.env["DOCKER_HOST"] = silent(t)
		c.script(t, "print('here')", "--image", e.Image, "--timeout", "1s").
			complains(t, 124, "Script timed out after 1s before it began", "no answer yet from the engine at "+c.env["DOCKER_HOST"])
	})
	id := e.Container(t, e.Image)
	for path, where := range map[string]string{
		"/containers/create$": "--image=" + e.Image, "/attach$": "--image=" + e.Image, "/containers/.*/start$": "--image=" + e.Image,
		"/exec$": "--container=" + id, "/exec/.*/start$": "--container=" + id,
	} {
		t.Run("an engine that never answers "+path, func(t *testing.T) {
			t.Parallel()
			c := newCaller(t, e)
			c.env["DOCKER_HOST"] = stuck(t, e, regexp.MustCompile(path)).host
			c.script(t, "print('here')", where, "--timeout", "3s").
				complains(t, 124, "Script timed out after 3s before it began", "no answer yet from the engine at "+c.env["DOCKER_HOST"])
		})
	}
	t.Run("an engine that never answers in TLS", func(t *testing.T) {
		t.Parallel()
		c := newCaller(t, e)
		newAuthority(t).files(t, c.dir)
		c.env["DOCKER_HOST"], c.env["DOCKER_TLS_VERIFY"], c.env["DOCKER_CERT_PATH"] = silent(t), "1", c.dir
		c.script(t, "print('here')", "--image", e.Image, "--timeout", "1s").
			complains(t, 124, "Script timed out after 1s before it began", "no answer yet from the engine at "+c.env["DOCKER_HOST"])
	})
}

// TestDockerKnowsTheCallerOnly opens containers for a caller whose environment is not this process's.
func TestDockerKnowsTheCallerOnly(t *testing.T) {
	e := engine(t)
	r := newRegistry(t)
	r.user = "me"
	r.tiny(t, "helped", "amd64", map[string]string{"helped": r.address})
	unpull(t, e, r.name("helped")) // when the variables are as they were
	for name, value := range map[string]string{
		"DOCKER_HOST": "tcp://127.0.0.1:1", "DOCKER_CONTEXT": "nowhere", "DOCKER_CONFIG": "/nowhere", "DOCKER_API_VERSION": "1.999",
		"DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": "/nowhere", "HTTP_PROXY": "http://127.0.0.1:1", "HTTPS_PROXY": "http://127.0.0.1:1",
	} {
		t.Setenv(name, value)
	}
	bin := t.TempDir()
	credentialHelper(t, bin, `echo "{\"ServerURL\": \"$(cat)\", \"Username\": \"$WHO\", \"Secret\": \"secret\"}"`)
	t.Setenv("WHO", "somebody else")
	// Not 127.0.0.1, for which nobody takes a proxy.
	p := relay(t, e, listenTCP(t), 0)
	host := strings.Replace(p.host, "127.0.0.1", "0.0.0.0", 1)

	t.Run("by DOCKER_HOST", func(t *testing.T) {
		t.Parallel()
		openDocker(t, docker.Config{Image: e.Image, Env: map[string]string{"DOCKER_HOST": host}})
	})
	t.Run("with a credential helper", func(t *testing.T) {
		t.Parallel()
		c := newCaller(t, e)
		write(t, filepath.Join(c.env["HOME"], ".docker/config.json"), `{"credsStore": "test"}`)
		env := map[string]string{"DOCKER_HOST": e.Endpoint, "HOME": c.env["HOME"], "WHO": "me", "PATH": bin + ":" + c.env["PATH"]}
		// That it has no Python is what shows that it was pulled.
		if _, err := docker.Open(t.Context(), docker.Config{Image: r.name("helped"), Env: env}); !errors.Is(err, backend.ErrNoPython) {
			t.Error(err)
		}
	})
	t.Run("by a context", func(t *testing.T) {
		t.Parallel()
		c := newCaller(t, e)
		c.context(t, "there", "host="+host)
		openDocker(t, docker.Config{Image: e.Image, Env: map[string]string{"HOME": c.env["HOME"], "DOCKER_CONTEXT": "there"}})
	})
}

// An engine, or what stands before it, that breaks the rules of HTTP is told in one line: libraries have
// their say in the log.
func TestDockerEngineIsNone(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { _ = l.Close(); <-done })
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 1<<12))
			// A body, where the question was for the head.
			_, _ = conn.Write([]byte("HTTP/1.1 403 Forbidden\r\nContent-Length: 9\r\n\r\nno engine"))
			_ = conn.Close()
		}
	}()
	c := newCaller(t, testenv.Engine{Endpoint: "tcp://" + l.Addr().String()})
	c.script(t, "print(1)", "--image", "x").complains(t, 125, "engine at tcp://"+l.Addr().String(), "no engine")
}
