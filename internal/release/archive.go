package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// entry is a file of an archive, or a directory where its name ends in a slash or is empty: the top.
type entry struct {
	name string
	mode fs.FileMode // permissions, and fs.ModeSticky
	data []byte
}

func (e entry) isDir() bool { return e.name == "" || strings.HasSuffix(e.name, "/") }

// sorted returns entries in the order of their names, with the directories above them.
func sorted(entries []entry) []entry {
	all := slices.Clone(entries)
	known := map[string]bool{"./": true} // what path.Dir calls the top
	for _, e := range entries {
		known[e.name] = true
	}
	for _, e := range entries {
		for dir := path.Dir(strings.TrimSuffix(e.name, "/")) + "/"; !known[dir]; dir = path.Dir(path.Clean(dir)) + "/" {
			known[dir] = true
			all = append(all, entry{name: dir, mode: 0o755})
		}
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Compare(a.name, b.name) })
	return all
}

// tarball packs entries as root's, with one time for all. Prefix is put in front of the names.
func tarball(entries []entry, when time.Time, prefix string) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range sorted(entries) {
		h := &tar.Header{
			Format: tar.FormatUSTAR, Typeflag: tar.TypeReg, Name: prefix + e.name, Mode: int64(e.mode.Perm()), Size: int64(len(e.data)),
			ModTime: when, Uname: "root", Gname: "root",
		}
		if e.isDir() {
			h.Typeflag = tar.TypeDir
		}
		if e.mode&fs.ModeSticky != 0 {
			h.Mode |= 0o1000
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

// gzipped compresses data; the header has neither a name nor a time.
func gzipped(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}

// tarGz is tarball, compressed.
func tarGz(entries []entry, when time.Time, prefix string) ([]byte, error) {
	data, err := tarball(entries, when, prefix)
	if err != nil {
		return nil, err
	}
	return gzipped(data)
}

// zipped packs entries for Windows.
func zipped(entries []entry, when time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range sorted(entries) {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: when}
		h.SetMode(e.mode)
		if e.isDir() {
			h.Method = zip.Store
			h.SetMode(e.mode | fs.ModeDir)
		}
		f, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := f.Write(e.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

// archive packs the program for one platform with what belongs to it, below a directory of its own.
func archive(id identity, p program, c contents) (string, []byte, error) {
	top := strings.Join([]string{name, id.version, p.os, p.arch}, "_")
	in := func(file string, mode fs.FileMode, data []byte) entry { return entry{top + "/" + file, mode, data} }
	entries := []entry{
		in(p.program(), 0o755, p.data), in("LICENSE", 0o644, c.license), in("NOTICES", 0o644, c.notices), in("README.md", 0o644, c.readme),
		in(name+".1", 0o644, c.man),
		in("completions/"+name+".bash", 0o644, c.completions["bash"]), in("completions/_"+name, 0o644, c.completions["zsh"]),
		in("completions/"+name+".fish", 0o644, c.completions["fish"]), in("completions/"+name+".ps1", 0o644, c.completions["powershell"]),
	}
	if p.os == "windows" {
		data, err := zipped(entries, id.when)
		return top + ".zip", data, err
	}
	data, err := tarGz(entries, id.when, "")
	return top + ".tar.gz", data, err
}
