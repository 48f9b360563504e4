package main

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v2"
)

// What make release links in: the version that it was given, and the commit.
//
//nolint:gochecknoglobals // the linker can set nothing else
var version, revision string

// versionInfo is what version --json prints.
type versionInfo struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

func (a *app) versionCommand() *cli.Command {
	return &cli.Command{
		Name:        "version",
		Usage:       "print the version",
		UsageText:   "hermes-exec version [--json]",
		Description: described("", "hermes-exec version --json"),
		Flags:       []cli.Flag{&cli.BoolFlag{DisableDefaultText: true, Name: "json", Usage: "print a JSON object"}},
		Action: noArguments(func(_ context.Context, c *cli.Context) error {
			v := readVersion()
			if c.Bool("json") {
				return a.printJSON(v)
			}
			_, err := fmt.Fprintf(a.out, "hermes-exec %s (%s, %s/%s)\n", v.Version, v.Go, v.OS, v.Arch)
			return err
		}),
	}
}

// readVersion tells what the binary was built from: what the release has linked in, else the module's
// version and the commit that Go has.
func readVersion() versionInfo {
	v := versionInfo{Version: "(devel)", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v.Revision = s.Value
		}
	}
	if version != "" {
		v.Version, v.Revision = version, revision
	}
	return v
}

// printJSON prints v on one line, neither HTML- nor ASCII-escaped.
func (a *app) printJSON(v any) error {
	e := json.NewEncoder(a.out)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
