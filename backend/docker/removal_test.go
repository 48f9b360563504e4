package docker

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/docker/docker/client"

	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// An engine that forgets a question about a container, as 20.10 does when it comes in the moment of the
// removal, is asked again.
func TestRemovalIsAskedForAgain(t *testing.T) {
	for name, answer := range map[string]func(http.ResponseWriter){
		"after the head of the answer": func(w http.ResponseWriter) { w.WriteHeader(http.StatusOK); _ = http.NewResponseController(w).Flush() },
		"before it":                    func(http.ResponseWriter) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if !strings.HasSuffix(r.URL.Path, "/wait") || asked.Add(1) > 1 {
					http.Error(w, `{"message":"No such container: c"}`, http.StatusNotFound)
					return
				}
				answer(w)
				<-r.Context().Done()
			}))
			defer host.Close()
			c, err := client.NewClientWithOpts(client.WithHost("tcp://"+strings.TrimPrefix(host.URL, "http://")), client.WithVersion("1.41"))
			if err != nil {
				t.Fatal(err)
			}
			testenv.CloseAfter(t, c)
			if err := (&engine{Client: c}).awaitRemoval("c"); err != nil || asked.Load() != 2 {
				t.Errorf("%v after %d questions, want none after 2", err, asked.Load())
			}
		})
	}
}
