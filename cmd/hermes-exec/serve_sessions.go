package main

import (
	"errors"
	"log/slog"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/backend/all"
	"github.com/hermes-exec/hermes-exec/server"
)

// serveName is the command that the client of sessions starts in the background.
const serveName = "serve-sessions"

func (a *app) serveSessionsCommand() *cli.Command {
	return &cli.Command{
		Name:      serveName,
		Usage:     "hold sessions between calls; hermes-exec starts it by itself, with its socket on descriptor 3",
		UsageText: "hermes-exec " + serveName + " [--idle TIME] HERMES_HOME",
		Hidden:    true,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "inside", DisableDefaultText: true, Usage: "say in every result that a run has started it, with which it ends"},
			&cli.DurationFlag{Name: "idle", Value: server.DefaultIdle, Usage: "end after `TIME` without sessions and calls"},
		},
		Action: a.serveSessions,
	}
}

func (a *app) serveSessions(c *cli.Context) error {
	if c.NArg() != 1 {
		return usagef("%s: HERMES_HOME is missing", serveName)
	}
	place, err := server.Locate(c.Args().First())
	if err != nil {
		return usagef("%v", err)
	}
	listener, err := server.Inherited()
	if err != nil {
		return usagef("%s is started by hermes-exec itself: %v", serveName, err)
	}
	if err := a.openLog(place.Home, ""); err != nil {
		return errors.Join(err, listener.Close())
	}
	ctx, stop := a.interrupts(c.Context, nil)
	defer stop()
	return server.Serve(ctx, server.Config{
		Place: place, Version: identity(), Idle: c.Duration("idle"), Inside: c.Bool("inside"), Temp: []string{os.TempDir()},
		Pruners: all.Pruners(all.Host{Env: a.environ, Dir: place.Home, Log: a.log}),
		Openers: func(c server.Caller) map[string]backend.Opener {
			return all.Openers(all.Host{Env: c.Env, Dir: c.Dir, Log: c.Log, Shared: &a.shared, Progress: c.Progress})
		},
		Log: func(level slog.Level) *slog.Logger {
			return slog.New(slog.NewTextHandler(a.logFile, &slog.HandlerOptions{Level: level}))
		},
	}, listener)
}
