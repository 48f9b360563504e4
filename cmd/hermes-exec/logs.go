package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/hermes-exec/hermes-exec/config"
	"github.com/hermes-exec/hermes-exec/internal/logfile"
)

func (a *app) logsCommand() *cli.Command {
	return &cli.Command{
		Name:        "logs",
		Usage:       "print what was logged",
		UsageText:   "hermes-exec logs [--level LEVEL] [--follow]",
		Description: described("", "hermes-exec logs", "hermes-exec logs --level warn --follow"),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "level", Usage: "only records of `LEVEL` (debug, info, warn, error) and above"},
			&cli.BoolFlag{DisableDefaultText: true, Name: "follow", Aliases: []string{"f"}, Usage: "go on with what is logged from now on"},
		},
		Action: noArguments(a.logs),
	}
}

// logs prints the log. Its place depends on HERMES_HOME alone, so that a configuration that cannot
// be read does not hide it.
func (a *app) logs(ctx context.Context, c *cli.Context) error {
	level, err := logLevel(c.String("level"))
	if err != nil {
		return err
	}
	if c.String("level") == "" {
		level, _ = logLevel("debug")
	}
	path := logPath(config.Home(a.environ, a.dir))
	if !c.Bool("follow") {
		return logfile.Copy(a.out, path, level)
	}
	ctx, stop := a.interrupts(ctx, nil)
	defer stop()
	return logfile.Follow(ctx, a.out, path, level)
}
