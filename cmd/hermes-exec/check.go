package main

import (
	"context"
	"fmt"

	hermes "github.com/hermes-exec/hermes-exec"
)

// checked is what --check finds, as JSON.
type checked struct {
	Status   hermes.Status    `json:"status"` // success: there are none, and the exit status is 0
	Findings []hermes.Finding `json:"findings"`
}

// check looks at a script and does not run it. Name is what findings are printed with.
func (a *app) check(ctx context.Context, o hermes.Options, s hermes.Script, cell bool, f format, name string) error {
	var found []hermes.Finding
	err := a.withEnv(ctx, o, func(ctx context.Context, env *hermes.Env) (err error) {
		found, err = env.Check(ctx, s, cell)
		return err
	})
	if err != nil {
		return err
	}
	if f != formatText {
		result := checked{Status: hermes.Success, Findings: append([]hermes.Finding{}, found...)}
		if len(found) > 0 {
			result.Status = hermes.Failure
		}
		a.printLine(result)
	} else {
		for _, finding := range found {
			write(a.out, fmt.Appendf(nil, "%s:%d: %s\n", name, finding.Line, finding.Message))
		}
	}
	if len(found) > 0 {
		return statusError(1) // as linters do
	}
	return nil
}
