package backendtest

import "io/fs"

// give has nothing to do: a file belongs to whom its directory says.
func give(string, fs.FileInfo) error { return nil }
