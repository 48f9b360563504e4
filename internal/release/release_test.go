package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	oci "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// fake is a release of programs that are none.
func fake() (identity, []program, contents) {
	id := identity{version: "v1.2.3-rc.1", revision: strings.Repeat("ab", 20), when: time.Unix(1700000000, 0).UTC(), maintainer: "Somebody <somebody@example.com>"}
	var programs []program
	for _, p := range platforms() {
		info := &debug.BuildInfo{GoVersion: "go1.26.0", Deps: []*debug.Module{
			{Path: "example.com/Some_One/lib/v2", Version: "v2.0.0+incompatible", Sum: "h1:" + strings.Repeat("A", 43) + "="},
		}}
		if p.os == "windows" {
			info.Deps = append(info.Deps, &debug.Module{Path: "example.com/win", Version: "v1.0.0"})
		}
		programs = append(programs, program{p, []byte("program for " + p.String()), info})
	}
	text := func(s string) license {
		return license{version: "v1.0.0", texts: map[string]string{"LICENSE": s}, spdx: "MIT"}
	}
	c := contents{
		license: []byte("license\n"), readme: []byte("readme\n"), man: []byte(".TH\n"),
		completions: map[string][]byte{"bash": []byte("b"), "zsh": []byte("z"), "fish": []byte("f"), "powershell": []byte("p")},
		licenses:    map[string]license{"example.com/Some_One/lib/v2": text("one"), "example.com/win": text("two"), standard: text("one"), rootsModule: text("one")},
	}
	c.notices = notices(c.licenses)
	return id, programs, c
}

// packed packs the fake release and returns its files by name.
func packed(t *testing.T) map[string][]byte {
	t.Helper()
	id, programs, c := fake()
	dir := t.TempDir()
	if _, err := pack(t.Context(), id, programs, c, dir); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, e := range entries {
		if files[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func TestSameBytes(t *testing.T) {
	first, second := packed(t), packed(t)
	if len(first) != 11 {
		t.Errorf("a release of %d files, want 6 archives, 2 packages, an image, a bill and the checksums", len(first))
	}
	for file, data := range first {
		if !bytes.Equal(data, second[file]) {
			t.Errorf("%s differs from one run to the next", file)
		}
	}
	for line := range strings.Lines(string(first[sumsName])) {
		sum, file, _ := strings.Cut(strings.TrimSpace(line), "  ")
		if want := fmt.Sprintf("%x", sha256.Sum256(first[file])); sum != want || first[file] == nil {
			t.Errorf("%s has the checksum %s, the list says %s", file, want, sum)
		}
	}
	if got := len(namesIn(string(first[sumsName]))); got != 10 {
		t.Errorf("the list has %d checksums, want 10", got)
	}
}

func TestArchives(t *testing.T) {
	files := packed(t)
	const unix, windows = "hermes-exec_v1.2.3-rc.1_linux_arm64", "hermes-exec_v1.2.3-rc.1_windows_amd64"
	wantIn := func(top, program string) []string {
		return []string{
			top + "/", top + "/LICENSE", top + "/NOTICES", top + "/README.md", top + "/completions/", top + "/completions/_hermes-exec",
			top + "/completions/hermes-exec.bash", top + "/completions/hermes-exec.fish", top + "/completions/hermes-exec.ps1", top + "/" + program, top + "/hermes-exec.1",
		}
	}
	var got []string
	for _, h := range untar(t, gunzip(t, files[unix+".tar.gz"])) {
		got = append(got, h.Name)
		if h.Uid != 0 || h.Gid != 0 || h.ModTime.Unix() != 1700000000 {
			t.Errorf("%s: %d:%d, %s", h.Name, h.Uid, h.Gid, h.ModTime)
		}
		if strings.HasSuffix(h.Name, "/hermes-exec") && h.Mode != 0o755 {
			t.Errorf("the program has mode %o", h.Mode)
		}
	}
	if want := wantIn(unix, "hermes-exec"); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	z, err := zip.NewReader(bytes.NewReader(files[windows+".zip"]), int64(len(files[windows+".zip"])))
	if err != nil {
		t.Fatal(err)
	}
	got = nil
	for _, f := range z.File {
		got = append(got, f.Name)
	}
	slices.Sort(got)
	want := wantIn(windows, "hermes-exec.exe")
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestDebian(t *testing.T) {
	dpkg := testenv.Require(t, "dpkg-deb")
	file := filepath.Join(t.TempDir(), "a.deb")
	if err := os.WriteFile(file, packed(t)["hermes-exec_1.2.3~rc.1_arm64.deb"], 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(dpkg, "--show", "--showformat=${Package} ${Version} ${Architecture} ${Maintainer} ${Installed-Size}", file).CombinedOutput()
	if want := "hermes-exec 1.2.3~rc.1 arm64 Somebody <somebody@example.com> 25"; err != nil || string(out) != want {
		t.Errorf("got %q, %v, want %q", out, err, want)
	}
	root := t.TempDir()
	if out, err := exec.Command("dpkg-deb", "--raw-extract", file, root).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	check := exec.Command("md5sum", "--check", "--strict", "DEBIAN/md5sums")
	check.Dir = root
	if out, err := check.CombinedOutput(); err != nil || strings.Count(string(out), ": OK") != 10 {
		t.Errorf("%v: %s", err, out)
	}
	if data, err := os.ReadFile(filepath.Join(root, "usr/bin/hermes-exec")); err != nil || string(data) != "program for linux_arm64" {
		t.Errorf("the program is %q, %v", data, err)
	}
}

// Both ways of reading the image end at the same blobs, whose digests are right.
func TestImage(t *testing.T) {
	blobs := map[string][]byte{}
	archive := packed(t)["hermes-exec_v1.2.3-rc.1_image.tar"]
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if blobs[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	read := func(d oci.Descriptor) []byte {
		data, ok := blobs[blob(d)]
		if sum := fmt.Sprintf("sha256:%x", sha256.Sum256(data)); !ok || sum != d.Digest.String() || int64(len(data)) != d.Size {
			t.Fatalf("%s: %d bytes, %s", d.Digest, len(data), sum)
		}
		return data
	}
	top := decode[oci.Index](t, blobs["index.json"])
	old := decode[[]loadable](t, blobs["manifest.json"])
	for i, d := range decode[oci.Index](t, read(top.Manifests[0])).Manifests {
		m := decode[oci.Manifest](t, read(d))
		config := decode[oci.Image](t, read(m.Config))
		layer := gunzip(t, read(m.Layers[0]))
		if got := fmt.Sprintf("sha256:%x", sha256.Sum256(layer)); got != config.RootFS.DiffIDs[0].String() {
			t.Errorf("the layer is %s, its image says %s", got, config.RootFS.DiffIDs[0])
		}
		arch := []string{"amd64", "arm64"}[i]
		if d.Platform.Architecture != arch || config.Architecture != arch || config.Config.User != user {
			t.Errorf("%s is for %v and %s, run by %s", arch, d.Platform, config.Architecture, config.Config.User)
		}
		if old[i].Config != blob(m.Config) || old[i].Layers[0] != blob(m.Layers[0]) || old[i].RepoTags[0] != "hermes-exec:v1.2.3-rc.1-"+arch {
			t.Errorf("an older engine finds %+v", old[i])
		}
		modes := map[string]int64{}
		for _, h := range untar(t, layer) {
			modes[h.Name] = h.Mode
		}
		if modes["tmp/"] != 0o1777 || modes["usr/bin/hermes-exec"] != 0o755 || modes["etc/ssl/certs/ca-certificates.crt"] != 0o644 {
			t.Errorf("%s has %v", arch, modes)
		}
	}
	if n := bytes.Count(certificates(), []byte("BEGIN CERTIFICATE")); n < 100 {
		t.Errorf("%d root certificates", n)
	}
}

// What the bill must have by SPDX 2.3, and that what it relates is there.
func TestBill(t *testing.T) {
	data := packed(t)["hermes-exec_v1.2.3-rc.1.spdx.json"]
	d := decode[spdxDocument](t, data)
	if d.SPDXVersion != "SPDX-2.3" || d.CreationInfo.Created != "2023-11-14T22:13:20Z" || !strings.HasPrefix(d.DocumentNamespace, "https://"+modulePath+"/spdx/v1.2.3-rc.1-") {
		t.Errorf("it is %s of %s, %s", d.SPDXVersion, d.CreationInfo.Created, d.DocumentNamespace)
	}
	ids := map[string]string{d.SPDXID: d.Name}
	purls := map[string]string{}
	for _, p := range d.Packages {
		if ids[p.SPDXID] != "" || idRune.MatchString(p.SPDXID) || p.DownloadLocation == "" || p.LicenseDeclared == "" {
			t.Errorf("package %+v", p)
		}
		ids[p.SPDXID] = p.Name
		purls[p.Name] = p.ExternalRefs[0].Locator
		if p.Name == "example.com/Some_One/lib/v2" && (len(p.Checksums) != 1 || p.Checksums[0].Value != strings.Repeat("0", 64)) {
			t.Errorf("the checksum is %v", p.Checksums)
		}
	}
	if got, want := purls["example.com/Some_One/lib/v2"], "pkg:golang/example.com/Some_One/lib/v2@v2.0.0%2Bincompatible"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, f := range d.Files {
		if ids[f.SPDXID] != "" || len(f.Checksums) != 2 {
			t.Errorf("file %+v", f)
		}
		ids[f.SPDXID] = f.FileName
	}
	links := map[string][]string{}
	for _, r := range d.Relationships {
		if ids[r.Element] == "" || ids[r.Related] == "" {
			t.Errorf("%+v names what is not there", r)
		}
		if r.Type == "STATIC_LINK" {
			links[ids[r.Element]] = append(links[ids[r.Element]], ids[r.Related])
		}
	}
	if got := links["./linux_amd64/hermes-exec"]; slices.Contains(got, "example.com/win") || !slices.Contains(got, standard) {
		t.Errorf("linux has %v", got)
	}
	if got, want := purls[rootsModule], "pkg:golang/"+rootsModule+"@v1.0.0"; got != want {
		t.Errorf("the roots of the image are %s, want %s", got, want)
	}
	if got := links["./windows_arm64/hermes-exec.exe"]; !slices.Contains(got, "example.com/win") {
		t.Errorf("windows has %v", got)
	}
}

func decode[T any](t *testing.T, data []byte) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%v in %q", err, data)
	}
	return v
}

func gunzip(t *testing.T, data []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if !r.ModTime.IsZero() || r.Name != "" {
		t.Errorf("the header has %q, %s", r.Name, r.ModTime)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func untar(t *testing.T, data []byte) []*tar.Header {
	t.Helper()
	var all []*tar.Header
	for r := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, h)
	}
}
