package main

import (
	"strings"

	"github.com/urfave/cli/v2"
)

func (a *app) manCommand() *cli.Command {
	return &cli.Command{
		Name:        "man",
		Usage:       "print the manual page",
		UsageText:   "hermes-exec man",
		Description: described("", "hermes-exec man | man -l -", "mkdir -p ~/.local/share/man/man1 && hermes-exec man > ~/.local/share/man/man1/hermes-exec.1"),
		Action: func(c *cli.Context) error {
			if c.NArg() > 0 {
				return usagef("man takes no arguments")
			}
			write(a.out, []byte(manPage(a.program())))
			return nil
		},
	}
}

// page is a manual page in the man macros of roff.
type page struct{ strings.Builder }

func (p *page) macro(name, text string) {
	p.WriteString("." + name)
	if text != "" {
		p.WriteString(` "` + strings.ReplaceAll(roff(text), `"`, `\(dq`) + `"`)
	}
	p.WriteString("\n")
}

// text writes lines as they are to be filled.
func (p *page) text(lines string) {
	for line := range strings.Lines(lines) {
		line = roff(strings.TrimSuffix(line, "\n"))
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			line = `\&` + line
		}
		p.WriteString(line + "\n")
	}
}

// example writes lines that stay as they are.
func (p *page) example(lines string) {
	p.macro("RS", "")
	p.macro("nf", "")
	p.text(lines)
	p.macro("fi", "")
	p.macro("RE", "")
}

// roff escapes text: a bare - may become a hyphen, with which nobody can search or copy.
func roff(text string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
}

// manPage is made of the same descriptions as --help, so that they cannot differ.
func manPage(program *cli.App) string {
	p := &page{}
	p.WriteString(".TH HERMES\\-EXEC 1\n")
	p.macro("SH", "NAME")
	p.text(program.Name + " - " + program.Usage)
	p.macro("SH", "SYNOPSIS")
	p.example(program.UsageText)
	p.macro("SH", "DESCRIPTION")
	p.text("Runs a Python script on this machine, in a Docker container or on an SSH host. The script calls tools of the host as functions of the module hermes_tools; " +
		"what it prints comes back, as text or as one JSON result. Without a command, run is meant.")
	p.macro("SH", "COMMANDS")
	for _, c := range program.Commands {
		p.command(c)
	}
	p.macro("SH", "EXIT STATUS")
	for _, row := range exitStatuses() {
		p.macro("TP", "")
		p.text(row[0])
		p.text(row[1])
	}
	p.macro("SH", "ENVIRONMENT")
	for _, row := range [][2]string{
		{"HERMES_HOME", "The directory of config.yaml, logs and caches; ~/.hermes if it is not set."},
		{"HERMES_EXEC_NAME", "The flag --NAME, in capitals and with underscores, where the command line does not have it."},
	} {
		p.macro("TP", "")
		p.text(row[0])
		p.text(row[1])
	}
	p.macro("SH", "EXAMPLES")
	p.example(program.Description)
	p.macro("SH", "SEE ALSO")
	p.text(manual)
	return p.String()
}

// exitStatuses are those of a run, see hermes.Result.ExitStatus.
func exitStatuses() [][2]string {
	return [][2]string{
		{"0", "The script has succeeded."},
		{"1..123", "The script's own, as sys.exit gave it; 1 for an exception."},
		{"2", "A mistake on the command line or in the configuration."},
		{"124", "The run took longer than its timeout."},
		{"125", "hermes-exec has failed, or what it needs: an engine, a host."},
		{"126", "A policy refuses the run."},
		{"127", "There is no usable Python."},
		{"128+N", "Signal N has ended the script; 130 is an interrupt."},
	}
}

// command describes a command and those below it.
func (p *page) command(c *cli.Command) {
	if c.Hidden {
		return
	}
	p.macro("SS", c.UsageText)
	p.text(c.Usage + ".")
	if about, examples, _ := strings.Cut(c.Description, "Examples:\n"); c.Description != "" {
		if about = strings.TrimSpace(about); about != "" {
			p.macro("PP", "")
			p.text(about)
		}
		if examples != "" {
			p.macro("PP", "")
			p.text("Examples:")
			p.example(examples)
		}
	}
	for _, f := range c.Flags {
		doc, ok := f.(cli.DocGenerationFlag)
		if !ok {
			continue
		}
		value, usage := cutPlaceholder(doc.GetUsage())
		name := "--" + f.Names()[0]
		if doc.TakesValue() {
			name += " " + value
		}
		p.macro("TP", "")
		p.text(name)
		p.text(usage)
	}
	for _, sub := range c.Subcommands {
		p.command(sub)
	}
}

// cutPlaceholder finds what a value is called in a usage: the first word between backquotes.
func cutPlaceholder(usage string) (value, text string) {
	_, rest, _ := strings.Cut(usage, "`")
	value, _, found := strings.Cut(rest, "`")
	if !found {
		value = "VALUE"
	}
	return value, strings.ReplaceAll(usage, "`", "")
}
