package docker

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"

	"github.com/hermes-exec/hermes-exec/internal/owner"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// fake is an engine with an image that has a label, and no other.
func fake(t *testing.T, label string) *engine {
	t.Helper()
	return fakeEngine(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/images/there/json") {
			_, _ = io.WriteString(w, `{"Config": {"Labels": {"`+ownerLabel+`": "`+label+`"}}}`)
			return
		}
		http.Error(w, `{"message": "no such image"}`, http.StatusNotFound)
	})
}

// fakeEngine is one that can be reached, and answers all else by that.
func fakeEngine(t *testing.T, answer http.HandlerFunc) *engine {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", "1.41")
		if !strings.HasSuffix(r.URL.Path, "/_ping") {
			answer(w, r)
		}
	}))
	e, err := connect(t.Context(), Host{Env: map[string]string{"DOCKER_HOST": "tcp://" + server.Listener.Addr().String()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = e.Close()
		server.Close()
	})
	return e
}

// What proves that an owner is dead depends on the way to the engine, too: who is far away may have this
// machine's name.
func TestCondition(t *testing.T) {
	dead := testenv.DeadPID(t)
	mark := func(change func(*owner.Mark)) string {
		m := owner.Self()
		m.PID = dead
		change(&m)
		return m.String()
	}
	ended, earlier := mark(func(*owner.Mark) {}), mark(func(m *owner.Mark) { m.Boot = "another" })
	if m := owner.Self(); m.Boot == "-" {
		t.Skip("the facts that prove a death are told on Linux alone")
	}
	e := fake(t, mark(func(m *owner.Mark) { m.Start = "1" }))
	for _, c := range []struct {
		name, label, image string
		local              bool
		dead               bool
		reason             string
	}{
		{"ended", ended, "there", true, true, "has ended"},
		{"ended, far away", ended, "there", false, true, "has ended"},
		{"before the boot", earlier, "there", true, true, "has ended"},
		{"before the boot, far away", earlier, "there", false, false, "in another boot"},
		{"alive", owner.Self().String(), "there", true, false, "lives and uses it"},
		{"of the image", mark(func(m *owner.Mark) { m.Start = "1" }), "there", true, false, "its image says"},
		{"of an image that is gone", ended, "gone", true, false, "cannot be looked at: it is gone"},
		{"no mark", "x", "there", true, false, "does not say"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e.local = c.local
			dead, reason := e.condition(t.Context(), container.Summary{ImageID: c.image, Labels: map[string]string{ownerLabel: c.label}})
			if dead != c.dead || !strings.Contains(reason, c.reason) {
				t.Errorf("dead is %v: %s; want %v: %s", dead, reason, c.dead, c.reason)
			}
		})
	}
}
