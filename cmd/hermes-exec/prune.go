package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/backend/all"
	"github.com/hermes-exec/hermes-exec/config"
	"github.com/hermes-exec/hermes-exec/server"
)

func (a *app) pruneCommand() *cli.Command {
	return &cli.Command{
		Name:      "prune",
		Usage:     "remove what runs that were killed have left",
		UsageText: "hermes-exec prune [--all] [--output text|json]",
		Description: strings.Join([]string{
			"Removes scratch directories, containers, sockets and directories of session servers whose owner is dead",
			"beyond doubt, and prints their names. What the living use, what cannot be told, and what the next call",
			"of a session is to be told, stays.",
		}, "\n"),
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "all", DisableDefaultText: true, Usage: "remove too what does not say whose it is and was not touched for a day"},
			&cli.StringFlag{Name: "output", Usage: "print `FORMAT`: text or json, which lists too what stays (default text)"},
		},
		Action: noArguments(a.prune),
	}
}

func (a *app) prune(ctx context.Context, c *cli.Context) error {
	asJSON, err := a.wantsJSON(c)
	if err != nil {
		return err
	}
	place, err := server.Locate(config.Home(a.environ, a.dir))
	if err != nil {
		return usagef("%v", err)
	}
	seen, err := server.Prune(server.PruneOptions{
		Place: place, All: c.Bool("all"),
		Temp: []string{a.environ["TMPDIR"], a.environ["TEMP"], a.environ["TMP"]},
	})
	for _, prune := range all.Pruners(all.Host{Env: a.environ, Dir: a.dir, Log: a.log}) {
		more, failed := prune(ctx)
		seen = append(seen, more...)
		if errors.Is(failed, backend.ErrUnavailable) {
			a.complain("warning: " + failed.Error())
		} else {
			err = errors.Join(err, failed)
		}
	}
	if asJSON {
		if failed := a.printJSON(seen); failed != nil {
			return failed
		}
		return err
	}
	for _, p := range seen {
		if p.Removed {
			fmt.Fprintf(a.out, "%s: %s\n", p.Path, p.Reason)
		}
	}
	return err
}
