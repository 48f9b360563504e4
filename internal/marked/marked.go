// Package marked ends what an environment of this machine has left when all have been killed who
// could tell which processes are its own: the agent and a supervisor.
//
// Two marks are left of it then. The path of the scratch directory is in the environment of every
// process that runs there, as long as none gives its own to what it starts; and who has not
// redirected its output holds a FIFO that was in there. A process with neither is not found.
package marked

// FIFO begins the names of the FIFOs in a scratch directory that processes write their output to.
const FIFO = "output"
