//go:build !linux

package threads

// room is not known here.
func room() int { return unlimited }
