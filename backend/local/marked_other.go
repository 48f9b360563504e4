//go:build unix && !linux

package local

// endMarked has no way to find processes by their variables here.
func endMarked(string) {}
