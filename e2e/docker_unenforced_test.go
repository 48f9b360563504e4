//go:build unix

package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// weak is an engine that cannot limit processes: it says so when it is asked, complains of it when it
// makes a container, or refuses to start one, and leaves the limit out.
func weak(t *testing.T, e testenv.Engine, refuses bool) *proxy {
	t.Helper()
	engine := reverse(t, e, e.Docker(t, "version", "--format", "{{.Server.APIVersion}}"))
	var limited sync.Map // containers that were to be limited, by id
	return answering(t, listenTCP(t), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; {
		case strings.HasSuffix(path, "/info"):
			altered(w, r, engine, func(info map[string]any) { info["PidsLimit"] = false })
		case strings.HasSuffix(path, "/containers/create"):
			body, _ := io.ReadAll(r.Body)
			var asked struct{ HostConfig struct{ PidsLimit *int64 } }
			_ = json.Unmarshal(body, &asked)
			r.Body = io.NopCloser(bytes.NewReader(body))
			altered(w, r, engine, func(made map[string]any) {
				if asked.HostConfig.PidsLimit == nil {
					return
				}
				limited.Store(made["Id"], true)
				if !refuses {
					made["Warnings"] = []string{"Your kernel does not support pids limit capabilities or the cgroup is not mounted. PIDs limit discarded."}
				}
			})
		case refuses && strings.HasSuffix(path, "/start") && is(&limited, strings.Split(path, "/")[3]):
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, `{"message":"OCI runtime create failed: unable to start container process: `+
				`can't set pids limit: cgroup controller \"pids\" is not available: unknown"}`)
		default:
			engine.ServeHTTP(w, r)
		}
	}))
}

func is(set *sync.Map, key string) bool {
	_, ok := set.Load(key)
	return ok
}

// altered answers as h does, with a JSON object that was changed.
func altered(w http.ResponseWriter, r *http.Request, h http.Handler, change func(map[string]any)) {
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, r)
	body := answer.Body.Bytes()
	var object map[string]any
	if answer.Code < 300 && json.Unmarshal(body, &object) == nil {
		change(object)
		body, _ = json.Marshal(object)
	}
	for name, values := range answer.Header() {
		if name != "Content-Length" {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(body)
}

// B080: a limit that the engine cannot set is left out, and everybody is told.
func TestDockerUnenforcedLimit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		refuses bool
		warning string
		doctor  string // of the limits
	}{
		"discarded": {false, "the engine says: Your kernel does not support pids limit", "limits: 2GiB of memory, 2 processors"},
		"refused":   {true, "the engine cannot limit processes here: the container runs without", "limits: 2GiB of memory, 2 processors, network none"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newUser(t, "DOCKER_HOST="+weak(t, testenv.Docker(t), c.refuses).host)
			r := u.run(t, "print(6*7)")
			r.must(t, "42\n")
			if !strings.HasPrefix(r.Warning, c.warning) || strings.Contains(r.Warning, "\n") {
				t.Errorf("warning %q", r.Warning)
			}
			doctor, err := u.command(t, "doctor", "--backend", "docker", "--image", u.image).CombinedOutput()
			if err != nil || !strings.Contains(string(doctor), c.warning) || !strings.Contains(string(doctor), c.doctor) {
				t.Errorf("doctor: %v: %s", err, doctor)
			}
		})
	}
}
