package config

import "io/fs"

// nonBlocking is not needed where files are no FIFOs.
const nonBlocking = 0

// ownerOnly tells nothing on Windows, where modes do not say who may write.
func ownerOnly(fs.FileInfo) bool { return true }
