package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/hermes-exec/hermes-exec/backend/all"
	"github.com/hermes-exec/hermes-exec/config"
)

// setting is a flag that package config understands: it is recorded as it was given, and checked
// with the other places that can say the same.
type setting struct {
	name string
	into *[]config.Flag
}

// Set records one use of the flag.
func (s *setting) Set(value string) error {
	*s.into = append(*s.into, config.Flag{Name: s.name, Value: value})
	return nil
}

// String is empty: help shows no default but the one in the usage text.
func (s *setting) String() string { return "" }

// settingFlags are the flags of every command that needs the settings.
func (a *app) settingFlags() []cli.Flag {
	d := config.Defaults()
	flags := []cli.Flag{}
	for _, f := range []struct{ name, usage string }{
		{"backend", fmt.Sprintf("run scripts in `NAME`, which is one of: %s (default %s)", strings.Join(all.Names(), ", "), d.Backend)},
		{"transport", fmt.Sprintf("carry tool calls by `NAME`, which is one of: auto, uds, tcp, file (default %s)", d.Transport)},
		{"mode", fmt.Sprintf("`MODE` is project, for this directory and its interpreter, or strict, for a private one (default %s)", d.Mode)},
		{"cwd", "run in `DIR`"},
		{"python", "use the interpreter at `PATH`"},
		{"timeout", fmt.Sprintf("end a run after `TIME`, in seconds or as in 90s or 5m (default %g)", d.Timeout.Seconds())},
		{"max-tool-calls", fmt.Sprintf("allow `N` tool calls in a run (default %d)", d.MaxToolCalls)},
		{"tools", "enable only the tools `A,B,C` (default all)"},
		{"env", "pass a variable through, or set it: `NAME[=VALUE]`; may be repeated"},
		{"skill", "pass through what the SKILL.md at `PATH` requires; may be repeated"},
	} {
		flags = append(flags, &cli.GenericFlag{Name: f.name, Usage: f.usage, Value: &setting{f.name, &a.settings}})
	}
	flags = append(flags, a.containerFlags()...)
	flags = append(flags, &cli.GenericFlag{
		Name: "host", Usage: "ssh: run on `[USER@]HOST[:PORT]`, or on a host that ~/.ssh/config names", Value: &setting{"host", &a.settings},
	})
	return append(
		flags,
		&cli.StringFlag{Name: "config", Usage: "read `FILE` instead of $HERMES_HOME/config.yaml"},
		&cli.StringFlag{Name: "log-level", Usage: "record in the log what is at least of `LEVEL`: debug, info, warn or error (default info)"},
	)
}

// containerFlags are those settings that matter to containers alone.
func (a *app) containerFlags() []cli.Flag {
	d := config.Defaults().Docker
	var flags []cli.Flag
	for _, f := range []struct{ name, usage string }{
		{"image", fmt.Sprintf("make containers from `IMAGE` (default %s)", d.Image)},
		{"container", "enter the running container `NAME`, which is left as it is"},
		{"user", "run as `USER[:GROUP]` (default the image's, or the caller where a directory is mounted)"},
		{"volume", "mount `HOST:CONTAINER[:ro]`; may be repeated"},
		{"network", fmt.Sprintf("`NAME` of a network, none or bridge (default %s)", d.Network)},
		{"memory", fmt.Sprintf("`BYTES` of memory, as in 512m or 2g (default %dg)", d.Memory>>30)},
		{"cpus", fmt.Sprintf("`N` processors, as in 1.5 (default %g)", d.CPUs)},
	} {
		flags = append(flags, &cli.GenericFlag{
			Name: f.name, Usage: "docker: " + f.usage, Value: &setting{f.name, &a.settings},
		})
	}
	return append(flags, &cli.BoolFlag{
		Name: "mount-cwd", Usage: "docker: mount this directory at /workspace", DisableDefaultText: true,
		Action: func(_ *cli.Context, on bool) error {
			return (&setting{"mount-cwd", &a.settings}).Set(strconv.FormatBool(on))
		},
	})
}

// texts is a flag that may be repeated. Help shows it once.
type texts struct{ into *[]string }

// Set records one use of the flag.
func (t texts) Set(value string) error {
	*t.into = append(*t.into, value)
	return nil
}

// String is empty: help shows no default.
func (t texts) String() string { return "" }

// noEmptyFlags refuses flags whose value is empty: that is a variable of the caller's that was not
// set, not a wish for the default. Package config sees to those that are settings.
func noEmptyFlags(c *cli.Context) error {
	for _, f := range c.Command.Flags {
		f, ok := f.(*cli.StringFlag)
		if ok && c.IsSet(f.Name) && strings.TrimSpace(c.String(f.Name)) == "" {
			_, what, _ := strings.Cut(f.Usage, "`")
			what, _, _ = strings.Cut(what, "`")
			return usagef("--%s: %q is empty: want %s", f.Name, c.String(f.Name), what)
		}
	}
	return nil
}
