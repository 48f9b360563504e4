package owner

func started(int) string { return unknown }
func boot() string       { return unknown }
func space() string      { return unknown }

// exists cannot be told for certain, and so everybody lives.
func exists(int) bool { return true }

const nonBlock = 0
