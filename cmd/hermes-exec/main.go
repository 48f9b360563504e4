// Command hermes-exec runs Python that a language model wrote where it belongs, and gives it host
// tools as ordinary functions.
//
// Messages follow one rule: lower case, no final period, prefixed hermes-exec:, and they name the
// value that was wrong and what to do next. Only main exits; everything returns through run.
package main

import (
	"os"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
}
