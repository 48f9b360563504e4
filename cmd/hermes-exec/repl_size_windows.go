package main

import "os"

// giveSize has nothing to do: a console knows its size.
func giveSize(*os.File) {}
