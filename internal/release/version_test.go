package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestVersions(t *testing.T) {
	for _, c := range []struct{ version, debian, tag string }{
		{"v1.2.3", "1.2.3", "v1.2.3"},
		{"v1.2.3-rc.1", "1.2.3~rc.1", "v1.2.3-rc.1"},
		{"v1.2.3-5-gabcdef012345", "1.2.3+5.gabcdef012345", "v1.2.3-5-gabcdef012345"},
		{"v1.2.3-rc.1-5-gabcdef012345-dirty", "1.2.3~rc.1+5.gabcdef012345+dirty", "v1.2.3-rc.1-5-gabcdef012345-dirty"},
		{"v0.0.0-20261130031012-abcdef012345", "0.0.0~20261130031012.abcdef012345", "v0.0.0-20261130031012-abcdef012345"},
		{"v1.2.3+build.7", "1.2.3+build.7", "v1.2.3-build.7"},
	} {
		v, err := canonical(strings.TrimPrefix(c.version, "v"))
		if err != nil || v != c.version {
			t.Errorf("%s: got %s, %v", c.version, v, err)
		}
		if got := debianVersion(v); got != c.debian {
			t.Errorf("%s: Debian's is %s, want %s", v, got, c.debian)
		}
		if got := imageTag(v); got != c.tag {
			t.Errorf("%s: the tag is %s, want %s", v, got, c.tag)
		}
	}
	for _, bad := range []string{"", "v", "1.2", "v01.2.3", "latest", "v1.2.3 -X main.x=y", "v1.2.3/../x", "v1.2.3\n"} {
		if v, err := canonical(bad); err == nil {
			t.Errorf("%q is taken for %s", bad, v)
		}
	}
}

// Without a repository both have to be given; the time is the one that was given.
func TestIdentify(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(dir))
	id, err := identify(t.Context(), dir, "1.2.3", "86400")
	if err != nil || id.version != "v1.2.3" || id.revision != "" || id.when.Unix() != 86400 {
		t.Errorf("got %+v, %v", id, err)
	}
	if _, err := identify(t.Context(), dir, "", ""); err == nil || !strings.Contains(err.Error(), "set VERSION") {
		t.Errorf("without anything: %v", err)
	}
	if _, err := identify(t.Context(), dir, "1.2.3", "yesterday"); err == nil || !strings.Contains(err.Error(), `"yesterday"`) {
		t.Errorf("with a wrong time: %v", err)
	}
}

// A release before is removed; anything else in the directory stays, and stops it.
func TestVacate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dist")
	put := func(file, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := vacate(dir); err != nil {
		t.Fatal(err)
	}
	put("hermes-exec_v1.tar", "x")
	put(sumsName, "00  hermes-exec_v1.tar\n00  hermes-exec_gone.tar\n00  ../dist/notes\n00  notes\n")
	if err := vacate(dir); err != nil {
		t.Fatal(err)
	}
	put("notes", "mine")
	put(sumsName, "00  ../dist/notes\n00  notes\n")
	if err := vacate(dir); err == nil || !strings.Contains(err.Error(), "notes") {
		t.Errorf("a directory with something else in it: %v", err)
	}
	for _, kept := range []string{"notes", sumsName} {
		if _, err := os.Stat(filepath.Join(dir, kept)); err != nil {
			t.Error(err)
		}
	}
}

func TestExpression(t *testing.T) {
	known, err := scanner()
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.ReadFile(filepath.Join("..", "..", "LICENSE"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, text, want string }{
		{"LICENSE", string(own), "Apache-2.0"},
		{"LICENSE", "Do what you like, but tell my mother.", noAssertion},
		{"NOTICE", "This is by somebody.", noAssertion},
	} {
		if got := expression(known, map[string]string{c.name: c.text}); got != c.want {
			t.Errorf("%.30q is taken for %s, want %s", c.text, got, c.want)
		}
	}
	if got := expression(known, map[string]string{"LICENSE": string(own), "NOTICE": "By somebody."}); got != "Apache-2.0" {
		t.Errorf("a license with a notice is taken for %s", got)
	}
	if _, err := readLicense(known, t.TempDir()); err == nil {
		t.Error("a module without a license is taken")
	}
}
