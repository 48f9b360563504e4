//go:build !unix

// Package local is the environment that hermes-exec itself runs in. Where there is no POSIX it does
// without a guest agent: see Native.
package local

import "github.com/hermes-exec/hermes-exec/backend"

// Opener returns an Opener for URLs of the scheme local, for a caller with the environment env in the
// directory dir.
func Opener(env map[string]string, dir string) backend.Opener { return NativeOpener(env, dir) }

// KeepsState tells whether cells here find what earlier ones have left, which takes a kernel: without a guest
// agent they run as scripts.
const KeepsState = false
