//go:build unix

package e2e

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// registry is one that images can be pulled from. Engines take those on this machine without TLS.
type registry struct {
	address string
	dir     string // its blobs, by their digests

	manifests map[string][]byte // by names
	user      string            // who may pull, with the password secret; "" is everybody
	slow      bool              // blobs never come
}

func newRegistry(t *testing.T) *registry {
	t.Helper()
	r := &registry{dir: testenv.TempDir(t), manifests: map[string][]byte{}}
	p := answering(t, listenTCP(t), r)
	r.address = strings.TrimPrefix(p.host, "tcp://")
	return r
}

// name is the whole name of an image there.
func (r *registry) name(image string) string { return r.address + "/" + image + ":1" }

// ServeHTTP implements as much of the protocol as a pull needs.
func (r *registry) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	if user, password, _ := q.BasicAuth(); r.user != "" && (user != r.user || password != "secret") {
		w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	name, what, _ := strings.Cut(strings.TrimPrefix(q.URL.Path, "/v2/"), "/manifests/")
	_, blob, isBlob := strings.Cut(q.URL.Path, "/blobs/sha256:")
	switch {
	case isBlob:
		if r.slow {
			<-q.Context().Done()
			return
		}
		http.ServeFile(w, q, filepath.Join(r.dir, filepath.Base(blob)))
	case what == "":
	case r.manifests[name] == nil:
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"errors": [{"code": "MANIFEST_UNKNOWN", "message": "manifest unknown"}]}`)
	default:
		w.Header().Set("Content-Type", "application/vnd.docker.distribution.manifest.v2+json")
		w.Header().Set("Docker-Content-Digest", digest(r.manifests[name]))
		w.Header().Set("Content-Length", fmt.Sprint(len(r.manifests[name])))
		_, _ = w.Write(r.manifests[name])
	}
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// descriptor names a blob.
type descriptor struct {
	MediaType string `json:"mediaType"`
	Size      int64  `json:"size"`
	Digest    string `json:"digest"`
}

// put stores a blob.
func (r *registry) put(t *testing.T, media string, from io.Reader) descriptor {
	t.Helper()
	f, err := os.CreateTemp(r.dir, "new")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sum := sha256.New()
	size, err := io.Copy(io.MultiWriter(f, sum), from)
	if err != nil {
		t.Fatal(err)
	}
	hash := hex.EncodeToString(sum.Sum(nil))
	if err := os.Rename(f.Name(), filepath.Join(r.dir, hash)); err != nil {
		t.Fatal(err)
	}
	return descriptor{"application/vnd.docker." + media, size, "sha256:" + hash}
}

// publish makes an image of a configuration and layers.
func (r *registry) publish(t *testing.T, name string, config []byte, layers ...descriptor) {
	t.Helper()
	manifest, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
		"config": r.put(t, "container.image.v1+json", bytes.NewReader(config)), "layers": layers,
	})
	if err != nil {
		t.Fatal(err)
	}
	r.manifests[name] = manifest
}

// layer is the media type of a layer that is not compressed.
const layer = "image.rootfs.diff.tar"

// copy publishes an image that the engine has, with one more layer, which it has not.
func (r *registry) copy(t *testing.T, e testenv.Engine, image, name string) {
	t.Helper()
	saved := filepath.Join(r.dir, "saved.tar")
	e.Docker(t, "save", "--output", saved, image)
	f, err := os.Open(saved)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	blobs, small := map[string]descriptor{}, map[string][]byte{}
	for entries := tar.NewReader(f); ; {
		h, err := entries.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Size > 1<<20 {
			blobs[h.Name] = r.put(t, layer, entries)
		} else if small[h.Name], err = io.ReadAll(entries); err != nil {
			t.Fatal(err)
		}
	}
	var index []struct {
		Config string
		Layers []string
	}
	if err := json.Unmarshal(small["manifest.json"], &index); err != nil {
		t.Fatal(err)
	}
	var layers []descriptor
	for _, name := range index[0].Layers {
		d, large := blobs[name]
		if !large {
			d = r.put(t, layer, bytes.NewReader(small[name]))
		}
		layers = append(layers, d)
	}
	news := tarball(t, map[string]string{"etc/news": name + " at " + r.address})
	r.publish(t, name, withLayer(t, small[index[0].Config], digest(news)), append(layers, r.put(t, layer, bytes.NewReader(news)))...)
}

// withLayer adds a layer to the configuration of an image.
func withLayer(t *testing.T, config []byte, digest string) []byte {
	t.Helper()
	var all struct {
		OS           string          `json:"os"`
		Architecture string          `json:"architecture"`
		Config       json.RawMessage `json:"config"`
		RootFS       struct {
			Type    string   `json:"type"`
			DiffIDs []string `json:"diff_ids"`
		} `json:"rootfs"`
	}
	if err := json.Unmarshal(config, &all); err != nil {
		t.Fatal(err)
	}
	all.RootFS.DiffIDs = append(all.RootFS.DiffIDs, digest)
	config, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// tarball holds programs.
func tarball(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var all bytes.Buffer
	w := tar.NewWriter(&all)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(files[name]))})
		if err == nil {
			_, err = io.WriteString(w, files[name])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return all.Bytes()
}

// tiny publishes an image for a machine of that architecture, which holds these programs.
func (r *registry) tiny(t *testing.T, name, architecture string, programs map[string]string) {
	t.Helper()
	files := tarball(t, programs)
	config, err := json.Marshal(map[string]any{
		"os": "linux", "architecture": architecture, "config": map[string]any{},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{digest(files)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	r.publish(t, name, config, r.put(t, layer, bytes.NewReader(files)))
}

// unpull removes an image at the end of the test, if it was pulled.
func unpull(t *testing.T, e testenv.Engine, image string) {
	t.Helper()
	t.Cleanup(func() {
		if e.Docker(t, "images", "--quiet", image) != "" {
			e.Docker(t, "rmi", image)
		}
	})
}
