package main

// keepsState tells whether a session of that backend can have a state. The local one has no kernels
// here: its cells run as scripts, which takes no server.
func keepsState(backend string) bool { return backend != "local" }
