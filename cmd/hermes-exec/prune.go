package main

import (
	"context"
	"errors"
	"fmt"

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
		UsageText: "hermes-exec prune [--all] [--host H] [--output text|json]",
		Description: described(
			"Removes scratch directories, containers, sockets and directories of session servers whose owner is dead\n"+
				"beyond doubt, and prints their names. What the living use, what cannot be told, and what the next call\n"+
				"of a session is to be told, stays. With --host it looks on that host, too.",
			"hermes-exec prune", "hermes-exec prune --all --output json", "hermes-exec prune --host me@build1",
		),
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "all", DisableDefaultText: true, Usage: "remove too what does not say whose it is and was not touched for a day"},
			&cli.GenericFlag{
				Name: "host", Usage: "look on `[USER@]HOST[:PORT]` too, or on a host that ~/.ssh/config names", Value: &setting{"host", &a.settings},
			},
			&cli.StringFlag{Name: "config", Usage: "read `FILE` instead of $HERMES_HOME/config.yaml"},
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
	pruners, err := a.pruners(c)
	if err != nil {
		return err
	}
	ctx, stop := a.interrupts(ctx, nil)
	defer stop()
	seen, err := server.Prune(server.PruneOptions{
		Place: place, All: c.Bool("all"),
		Temp: []string{a.environ["TMPDIR"], a.environ["TEMP"], a.environ["TMP"]},
	})
	for _, prune := range pruners {
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

// pruners are those of each backend, and that of the host that was named.
func (a *app) pruners(c *cli.Context) ([]backend.Pruner, error) {
	h := all.Host{Env: a.environ, Dir: a.dir, Log: a.log, Prompt: asker()}
	pruners := all.Pruners(h)
	if !c.IsSet("host") {
		return pruners, nil
	}
	a.settings = append(a.settings, config.Flag{Name: "backend", Value: "ssh"})
	loaded, err := a.load(c)
	if err != nil {
		return nil, err
	}
	there, err := all.HostPruner(h, loaded.Settings.Target(""), c.Bool("all"))
	if err != nil {
		return nil, usagef("%v", err)
	}
	return append(pruners, there), nil
}
