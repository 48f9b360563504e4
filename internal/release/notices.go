package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// standard is what the packages that come with Go are called where modules are named.
const standard = "stdlib"

// rootsModule has the root certificates of the image.
const rootsModule = "golang.org/x/crypto/x509roots/fallback"

// license is what a module says about its license. Version and sum are those of the build list.
type license struct {
	version, sum string
	texts        map[string]string // by file name
	spdx         string            // an SPDX expression; noAssertion where the texts are not well known
}

const noAssertion = "NOASSERTION"

// modules are all modules that some program contains, by path.
func modules(programs []program) map[string]*debug.Module {
	all := map[string]*debug.Module{}
	for _, p := range programs {
		for _, m := range p.info.Deps {
			all[m.Path] = m
		}
	}
	return all
}

// noticeFile matches the files in which modules say what must be passed on.
var noticeFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([-.].*)?$`)

// licenses reads what the modules say, the standard library and the root certificates included.
func (s source) licenses(ctx context.Context, deps map[string]*debug.Module) (map[string]license, error) {
	paths := append(slices.Sorted(maps.Keys(deps)), rootsModule)
	out, err := commandEnv(ctx, s.root, []string{"GOFLAGS=-mod=readonly", "GOWORK=off"}, append([]string{"go", "list", "-m", "-json=Path,Version,Sum,Dir,Error"}, paths...)...)
	if err != nil {
		return nil, err
	}
	known, err := scanner()
	if err != nil {
		return nil, err
	}
	all := map[string]license{}
	for d := json.NewDecoder(strings.NewReader(out)); d.More(); {
		var m struct {
			Path, Version, Sum, Dir string
			Error                   *struct{ Err string }
		}
		if err := d.Decode(&m); err != nil {
			return nil, err
		}
		if m.Dir == "" {
			return nil, fmt.Errorf("%s is not in the module cache: run go mod download (%v)", m.Path, m.Error)
		}
		l, err := readLicense(known, m.Dir)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Path, err)
		}
		l.version, l.sum = m.Version, m.Sum
		all[m.Path] = l
	}
	root, err := command(ctx, s.root, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	all[standard], err = readLicense(known, root)
	return all, err
}

// readLicense reads the license files in dir.
func readLicense(known *licensecheck.Scanner, dir string) (license, error) {
	l := license{texts: map[string]string{}}
	files, err := os.ReadDir(dir)
	if err != nil {
		return l, err
	}
	for _, f := range files {
		if !f.Type().IsRegular() || !noticeFile.MatchString(f.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return l, err
		}
		l.texts[f.Name()] = string(text)
	}
	if len(l.texts) == 0 {
		return l, fmt.Errorf("no license file in %s: it may not be passed on", dir)
	}
	l.spdx = expression(known, l.texts)
	return l, nil
}

// scanner knows the licenses that are usual among Go modules, by their SPDX names. To know all that
// there are would take it seconds.
func scanner() (*licensecheck.Scanner, error) {
	usual := []string{"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MPL-2.0", "Unlicense"}
	all := licensecheck.BuiltinLicenses()
	return licensecheck.NewScanner(slices.DeleteFunc(all, func(l licensecheck.License) bool { return !slices.Contains(usual, l.ID) }))
}

// expression names the licenses in texts, if each is one that is known: 75% of a file, as Go's own
// package site wants it.
func expression(known *licensecheck.Scanner, texts map[string]string) string {
	var found []string
	for file, text := range texts {
		if l := strings.ToLower(file); strings.HasPrefix(l, "notice") || strings.HasPrefix(l, "patents") {
			continue
		}
		cover := known.Scan([]byte(text))
		if cover.Percent < 75 {
			return noAssertion
		}
		for _, m := range cover.Match {
			found = append(found, m.ID)
		}
	}
	if len(found) == 0 {
		return noAssertion
	}
	slices.Sort(found)
	return strings.Join(slices.Compact(found), " AND ")
}

// notices puts together what has to be passed on with the program, each text once.
func notices(all map[string]license) []byte {
	owners := map[string][]string{}
	var order []string
	for _, module := range slices.Sorted(maps.Keys(all)) {
		for _, file := range slices.Sorted(maps.Keys(all[module].texts)) {
			text := strings.TrimSpace(strings.ReplaceAll(all[module].texts[file], "\r\n", "\n"))
			if owners[text] == nil {
				order = append(order, text)
			}
			owners[text] = append(owners[text], module+" ("+file+")")
		}
	}
	var b strings.Builder
	b.WriteString("hermes-exec contains code of others. These are their licenses and notices.\n")
	for _, text := range order {
		fmt.Fprintf(&b, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(owners[text], "\n"), text)
	}
	return []byte(b.String())
}

// goVersion is that of the toolchain, and so of the standard library in the programs.
func goVersion(programs []program) string {
	if len(programs) > 0 {
		return strings.TrimPrefix(programs[0].info.GoVersion, "go")
	}
	return strings.TrimPrefix(runtime.Version(), "go")
}
