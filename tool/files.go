package tool

// Files is a small pool of helper processes in one environment.
type Files struct{}
