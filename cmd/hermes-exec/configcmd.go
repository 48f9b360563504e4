package main

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/hermes-exec/hermes-exec/config"
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
			Description: described("", "hermes-exec config show", "hermes-exec config show --origin --timeout 60"),
			Flags: append(
				a.settingFlags(),
				&cli.BoolFlag{DisableDefaultText: true, Name: "origin", Usage: "tell where each value came from"},
				&cli.StringFlag{Name: "output", Usage: "print `FORMAT`: text or json, which tells where each value came from (default text)"},
			),
			Action: noArguments(a.showConfig),
		}},
		Action: subcommandNeeded("show"),
	}
}

// settingRow is a setting as config show --output json tells of it. Values are as in the text.
type settingRow struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Origin string `json:"origin"`
}

func rows(settings []config.Setting) []settingRow {
	list := make([]settingRow, len(settings))
	for i, s := range settings {
		list[i] = settingRow(s)
	}
	return list
}

func (a *app) showConfig(_ context.Context, c *cli.Context) error {
	asJSON, err := a.wantsJSON(c)
	if err != nil {
		return err
	}
	loaded, err := a.load(c)
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(rows(loaded.List()))
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
