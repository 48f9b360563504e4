package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"
)

// semantic is a version as semver.org and Go write it.
var semantic = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)

// behind is how git describe tells a commit that is so many commits behind a tag.
var behind = regexp.MustCompile(`-(\d+)-g([0-9a-f]+)$`)

// canonical adds the v that Go's versions begin with.
func canonical(version string) (string, error) {
	v := "v" + strings.TrimPrefix(version, "v")
	if !semantic.MatchString(v) {
		return "", fmt.Errorf("VERSION: %q is not like v1.2.3, v1.2.3-rc.1", version)
	}
	return v, nil
}

// describe asks git for the version. Twelve digits of a commit are always as many, where the default
// depends on how many objects a clone has. Without a tag it is what Go calls such a commit.
func describe(ctx context.Context, root string, id identity) (string, error) {
	if v, err := command(ctx, root, "git", "describe", "--tags", "--match", "v[0-9]*", "--abbrev=12", "--dirty"); err == nil {
		return v, nil
	}
	dirty, err := command(ctx, root, "git", "describe", "--always", "--abbrev=12", "--dirty")
	if err != nil {
		return "", err
	}
	return "v0.0.0-" + id.when.Format("20060102150405") + "-" + dirty, nil
}

// debianVersion orders as the versions do: a candidate before its release, a commit behind it after
// it. A hyphen would begin Debian's own revision.
func debianVersion(version string) string {
	v := strings.TrimPrefix(version, "v")
	v, build, _ := strings.Cut(v, "+")
	v, dirty := strings.CutSuffix(v, "-dirty")
	after := ""
	if m := behind.FindStringSubmatch(v); m != nil {
		v, after = strings.TrimSuffix(v, m[0]), "+"+m[1]+".g"+m[2]
	}
	v, candidate, found := strings.Cut(v, "-")
	if found {
		v += "~" + strings.ReplaceAll(candidate, "-", ".")
	}
	v += after
	if build != "" {
		v += "+" + strings.ReplaceAll(build, "-", ".")
	}
	if dirty {
		v += "+dirty"
	}
	return v
}

// imageTag has what may stand in the tag of an image.
func imageTag(version string) string { return strings.ReplaceAll(version, "+", "-") }
