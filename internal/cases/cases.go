// Package cases keeps docs/cases.md true: its test finds every case that a test of this tree names
// by its id, and writes down where. There is nothing else in it.
package cases
