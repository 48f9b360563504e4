//go:build unix && !linux

package local

import "os"

// fionread asks how many bytes lie in a pipe: FIONREAD of the BSDs' sys/filio.h, _IOR('f', 127, int).
const fionread = 0x4004667f

// widen is for systems where a pipe has one size.
func widen(*os.File, int) bool { return false }
