package main

import (
	"bytes"
	"crypto/md5" // the format wants it; it finds damaged files, not attackers
	"fmt"
	"strings"
	"time"
)

// control is what the package manager reads. Python is only recommended: scripts that run in
// containers and on other hosts need none here.
const control = `Package: hermes-exec
Version: %s
Architecture: %s
Maintainer: %s
Installed-Size: %d
Recommends: ca-certificates, python3 (>= 3.8)
Suggests: docker.io, openssh-client
Section: utils
Priority: optional
Homepage: https://%s
Description: run Python that a language model wrote, with host tools as functions
 A model writes a Python script; hermes-exec runs it on this machine, in a
 Docker container or on an SSH host, and gives it tools (files, search,
 patches, a shell, the web) as ordinary functions. What the script prints
 comes back as one result.
 .
 The program is one static binary; Python 3.8 or newer is needed where
 scripts run.
`

// copyright says whose the package is. The licenses of the modules are in NOTICES: policy wants common
// ones not to be repeated here.
const copyright = `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: hermes-exec
Source: https://%s

Files: *
Copyright: %d the authors of hermes-exec
License: Apache-2.0
Comment:
 The program contains Go modules of others, which are linked statically.
 Their licenses are in /usr/share/doc/hermes-exec/NOTICES.gz.

License: Apache-2.0
 On Debian systems, the full text of the license is in
 /usr/share/common-licenses/Apache-2.0.
`

// overrides tell lintian what is meant to be so.
const overrides = `# Go links statically; that is what makes one binary run everywhere.
hermes-exec: statically-linked-binary [usr/bin/hermes-exec]
`

// debian makes the Debian package of a program for linux.
func debian(id identity, p program, c contents) (string, []byte, error) {
	version := debianVersion(id.version)
	changes := fmt.Sprintf("%s (%s) unstable; urgency=medium\n\n  * Release %s of upstream.\n\n -- %s  %s\n",
		name, version, id.version, id.maintainer, id.when.Format(time.RFC1123Z))
	var packed [3][]byte
	for i, text := range [][]byte{c.man, c.notices, []byte(changes)} {
		var err error
		if packed[i], err = gzipped(text); err != nil {
			return "", nil, err
		}
	}
	doc := "usr/share/doc/" + name + "/"
	files := sorted([]entry{
		{"usr/bin/" + name, 0o755, p.data},
		{"usr/share/man/man1/" + name + ".1.gz", 0o644, packed[0]},
		{"usr/share/bash-completion/completions/" + name, 0o644, c.completions["bash"]},
		{"usr/share/zsh/vendor-completions/_" + name, 0o644, c.completions["zsh"]},
		{"usr/share/fish/vendor_completions.d/" + name + ".fish", 0o644, c.completions["fish"]},
		{"usr/share/lintian/overrides/" + name, 0o644, []byte(overrides)},
		{doc + "NOTICES.gz", 0o644, packed[1]},
		{doc + "README.md", 0o644, c.readme},
		{doc + "changelog.gz", 0o644, packed[2]},
		{doc + "copyright", 0o644, fmt.Appendf(nil, copyright, modulePath, id.when.Year())},
	})
	var sums strings.Builder
	kibibytes := 0 // each file as whole blocks of 1 KiB, each directory as one, as Debian's policy has it
	for _, f := range files {
		kibibytes += (len(f.data) + 1023) / 1024
		if f.isDir() {
			kibibytes++
			continue
		}
		fmt.Fprintf(&sums, "%x  %s\n", md5.Sum(f.data), f.name)
	}
	info, err := tarGz([]entry{
		{"", 0o755, nil},
		{"control", 0o644, fmt.Appendf(nil, control, version, p.arch, id.maintainer, kibibytes, modulePath)},
		{"md5sums", 0o644, []byte(sums.String())},
	}, id.when, "./")
	if err != nil {
		return "", nil, err
	}
	data, err := tarGz(append(files, entry{"", 0o755, nil}), id.when, "./")
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("%s_%s_%s.deb", name, version, p.arch), ar(id.when, []entry{
		{"debian-binary", 0o644, []byte("2.0\n")}, {"control.tar.gz", 0o644, info}, {"data.tar.gz", 0o644, data},
	}), nil
}

// ar packs entries in their order, in the format that Debian packages have: deb(5).
func ar(when time.Time, entries []entry) []byte {
	var b bytes.Buffer
	b.WriteString("!<arch>\n")
	for _, e := range entries {
		fmt.Fprintf(&b, "%-16s%-12d%-6d%-6d%-8o%-10d`\n", e.name, when.Unix(), 0, 0, 0o100000|e.mode.Perm(), len(e.data))
		b.Write(e.data)
		if len(e.data)%2 != 0 {
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}
