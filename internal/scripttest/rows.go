package scripttest

import (
	"slices"
	"testing"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/config"
)

// row is one script and what becomes of it. Its name starts with the ids of the field cases (B) and
// of the reference's tests (P) that it stands for.
type row struct {
	name     string
	code     string
	args     []string
	stdin    string
	trace    bool
	settings func(*config.Settings) // nil: the row shares an environment with others
	local    bool                   // the result may differ from place to place
	want     want
	check    func(t *testing.T, r *hermes.Result)
}

// want is what a row wants; its zero value is success with status 0 and no calls.
type want struct {
	status  hermes.Status
	kind    hermes.ErrorKind
	code    int     // −1000: null
	output  *string // nil: any
	made    int64
	refused int64

	outputHas, errorHas, hintHas, warningHas []string // parts; without hintHas there must be no hint
}

// rows are all of them.
func rows() []row {
	return slices.Concat(basicRows(), outputRows(), environRows(), toolRows(), limitRows(), hintRows())
}

// fails is what a script comes to that an exception ended.
func fails(parts ...string) want {
	return want{status: hermes.Failure, kind: hermes.KindScript, code: 1, errorHas: parts}
}
