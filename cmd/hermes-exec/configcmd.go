package main

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/urfave/cli/v2"
)

func (a *app) configCommand() *cli.Command {
	return &cli.Command{
		Name:      "config",
		Usage:     "show the effective settings",
		UsageText: "hermes-exec config show [--origin] [flags]",
		Subcommands: []*cli.Command{{
			Name:        "show",
			Usage:       "print every setting; secrets are masked",
			UsageText:   "hermes-exec config show [--origin] [flags]",
			Description: "hermes-exec config show --origin --timeout 60",
			Flags: append(
				a.settingFlags(),
				&cli.BoolFlag{DisableDefaultText: true, Name: "origin", Usage: "tell where each value came from"},
			),
			Action: noArguments(a.showConfig),
		}},
		Action: subcommandNeeded("show"),
	}
}

func (a *app) showConfig(_ context.Context, c *cli.Context) error {
	loaded, err := a.load(c)
	if err != nil {
		return err
	}
	for _, w := range loaded.Settings.Warnings {
		a.complain("warning: " + w)
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for _, s := range loaded.List() {
		if c.Bool("origin") {
			fmt.Fprintf(w, "%s\t%s\t%s\n", s.Key, s.Value, s.Origin)
		} else {
			fmt.Fprintf(w, "%s\t%s\n", s.Key, s.Value)
		}
	}
	return w.Flush()
}
