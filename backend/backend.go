// Package backend says what an environment is: a place where processes start, files lie, and a
// guest can meet the host.
//
// A Backend answers where. It knows nothing of tool calls, kernels or results: package transport
// decides how a call looks at the places that Listen and Share provide, package kernel what runs.
// Every implementation passes package backendtest, which is the contract in executable form.
package backend

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
)

// Starter starts processes. It is the one verb from which all others can be derived.
type Starter interface {
	// Start starts cmd and returns once it runs. Ctx bounds the start alone: the process outlives
	// it. A start that is on its way when ctx ends may take a second more, and give a process that runs:
	// it is the caller's to end. A program that does not exist is fs.ErrNotExist, one that cannot be executed is
	// ErrNotExecutable, a Dir that is missing is fs.ErrNotExist and names the directory.
	Start(ctx context.Context, cmd Cmd) (Process, error)
}

// Backend is one opened environment. Its methods may be called concurrently. After Close all of
// them answer net.ErrClosed; when the environment itself is gone they answer ErrUnavailable.
type Backend interface {
	Starter

	// Info returns facts that were gathered when the environment was opened. It never blocks.
	Info() Info

	// Examine finds out, by trying it, what nobody needed to know so far, and tells it as Info().Notes
	// are told: doctor asks. Nothing depends on it.
	Examine(ctx context.Context) []string

	// Put writes a file: whole or not at all, never visible half written. Parent directories are
	// made (0700). An existing file is replaced and a symlink is followed; mode is what the file
	// has afterwards, and mode 0 means that of the file it replaces, else 0600. A relative name is
	// relative to Info().Dir. A mode with fs.ModeDir makes a directory (0700) instead, if there is none;
	// r has nothing then.
	Put(ctx context.Context, name string, r io.Reader, mode fs.FileMode) error

	// Get opens a regular file for reading; ctx bounds the reading too. Nothing is transferred far
	// ahead of the reader, so the head of a huge file is cheap. A missing file is fs.ErrNotExist;
	// a directory, a FIFO or a device is fs.ErrInvalid and is never opened.
	Get(ctx context.Context, name string) (io.ReadCloser, error)

	// Listen opens a listener inside the environment. Network is "unix" or "tcp". An empty address
	// lets the environment choose: a private socket (0600 in a 0700 directory, with a path short
	// enough to bind), or a free port on 127.0.0.1; the listener's Addr tells it as the guest is to
	// dial it. It returns only when a dial from the environment's own side was seen to work.
	// errors.ErrUnsupported where the network does not exist there.
	Listen(ctx context.Context, network, address string) (net.Listener, error)

	// Share makes a directory that both sides see, below dir or, if dir is empty, in the scratch.
	Share(ctx context.Context, dir string) (Share, error)

	// Close ends every process, closes every listener and share, and removes the scratch. It is
	// idempotent, and returns when all of that is done.
	Close() error
}

// Info describes an opened environment. Paths are the environment's own.
type Info struct {
	Name    string // how results call it: "local", "docker", "ssh"
	Target  string // what was opened, for messages: a directory, an image, user@host
	OS      string // as runtime.GOOS spells it
	Dir     string // the working directory a process gets when Cmd.Dir is empty
	Temp    string // the temporary directory
	Scratch string // a private directory (0700) below Temp, gone after Close
	Library string // the directory that holds the guest package _hermes_exec
	Python  Python

	// SameHost says that processes run on this machine as the caller sees it: the host's paths name
	// the same files, and its loopback is theirs.
	SameHost bool

	// NoHome says that HOME is missing or cannot be written to.
	NoHome bool

	// NoZones says that the environment lacks the rules of time zones: each would be UTC there.
	NoZones bool

	// NoNetwork says that the environment was opened without a network, which it could have.
	NoNetwork bool

	// Memory is the limit in bytes that the environment was opened with; 0: it has none of its own.
	Memory int64

	// TempInMemory says that what lies in Temp counts as memory.
	TempInMemory bool

	// Env is the environment's own variables, unfiltered, as its processes would inherit them.
	Env map[string]string

	// Notes are facts that help people to understand what goes on, as doctor shows them.
	Notes []string

	// Warnings are facts that every result should tell: limits not enforced, candidates passed over.
	Warnings []string
}

// Python is a proven interpreter.
type Python struct {
	Path    string // absolute, shims resolved
	Version string // "3.11.2"
}

// Cmd describes a process to start.
type Cmd struct {
	Args []string          // the program and its arguments; the program is looked up in Env's PATH
	Dir  string            // "" is Info().Dir
	Env  map[string]string // the whole environment of the process, nothing is added

	// Files are put in place first, as Put does it. If one cannot be, the process does not start. Far
	// away that costs no round trip of its own.
	Files []File

	// Stdin is read to its end or until the process closes its side; nil is an empty stdin.
	// A reader that blocks for ever does not delay Wait.
	Stdin io.Reader

	// Stdout and Stderr get the output as it comes; nil discards it. Equal writers share one pipe,
	// so that the order of both streams is kept. A slow writer slows the process, nothing else.
	Stdout, Stderr io.Writer

	// Control, if not nil, is connected to a private byte stream that the process finds at
	// descriptor 3. What the process wrote to stdout and stderr before a control message has
	// reached the writers before that message is written here.
	Control io.ReadWriteCloser

	// Keep bounds what crosses to Stdout and to Stderr, each on its own; nil streams all.
	Keep *Keep

	// Linger leaves alone what the command leaves running when it ends: those processes live until
	// Close or a Signal. Without it they are ended with the command.
	Linger bool
}

// File is one that a process starts with.
type File struct {
	Name string // as Put takes it
	Data []byte
	Mode fs.FileMode
}

// PutFiles puts c.Files by a Put that is fast, and returns c without them.
func (c Cmd) PutFiles(ctx context.Context, put func(ctx context.Context, name string, r io.Reader, mode fs.FileMode) error) (Cmd, error) {
	for _, f := range c.Files {
		if err := put(ctx, f.Name, bytes.NewReader(f.Data), f.Mode); err != nil {
			return c, err
		}
	}
	c.Files = nil
	return c, nil
}

// Merged tells whether Stdout and Stderr are one writer, as exec.Cmd defines it.
func (c Cmd) Merged() bool {
	defer func() { _ = recover() }() // writers that cannot be compared are not equal
	return c.Stdout != nil && c.Stdout == c.Stderr
}

// Keep says how much of an output stream crosses to the host. The environment's side drains and
// counts everything: the first Head bytes cross as they come, the last Tail of the rest cross when
// the process has ended, and what lies between is only counted.
type Keep struct {
	Head, Tail int64 // bytes
}

// Process is a started process with its descendants. Its methods may be called concurrently.
type Process interface {
	// Signal sends sig to the process and all its descendants, those that left its session
	// included. Signalling a process that has ended is no error.
	Signal(ctx context.Context, sig Signal) error

	// Ended is closed when the process has ended and its descendants are gone (but see Cmd.Linger).
	// Output may still be on its way to a writer that is slow.
	Ended() <-chan struct{}

	// Exit tells how the process ended, as Wait does, without waiting for its output. Valid after
	// Ended.
	Exit() error

	// Wait waits until the process has ended, its descendants are gone and all output is written.
	// It returns nil for status 0, *ExitError for any other, and ErrNoExitStatus or ErrUnavailable
	// when none was delivered. It may be called any number of times. When ctx ends first it returns
	// the cause and the process goes on.
	Wait(ctx context.Context) error

	// Output tells how much the process wrote. It is exact, and valid after Wait.
	Output() (stdout, stderr Counts)

	// Survivors names the descendants that could not be ended, as "pid name". Valid after Wait.
	Survivors() []string
}

// Counts tells of one output stream, in bytes.
type Counts struct {
	Total   int64 // what the process wrote
	Omitted int64 // what Keep left out between head and tail
}

// Share is a directory that the host and the environment both see, or that is mirrored between
// them so that it looks so. It has two sub-directories: files that the guest puts into in/ appear
// in the host's in/, files that the host puts into out/ appear in the guest's. Writers use a
// temporary dot name and rename: dot files do not cross. Whoever reads a file removes it; on a
// mirrored share a file that has crossed is gone from the side where it was written. A byte
// written to the FIFO in/.wake on the guest's side, where that exists, hurries a mirror. A mirror
// carries files of up to 256 MiB. It writes a byte to every FIFO out/.wake_NAME when a file has come
// into out/, and tells of one that has lost its reader by an empty file in/end_NAME.
type Share interface {
	HostDir() string  // the directory on the host
	Root() *os.Root   // the same, as it was before the guest could put something else in its place; ends with Close
	GuestDir() string // the same directory inside the environment
	Close() error     // removes it on both sides; idempotent
}

// Signal is a signal by its POSIX number as Linux has it; an environment that numbers
// differently translates.
type Signal int

// The signals that hermes-exec sends.
const (
	Interrupt Signal = 2
	Kill      Signal = 9
	Terminate Signal = 15
)

// Opener opens an environment from its URL, for example local:/srv/app, docker:python:3.13-slim
// or ssh://user@host:22/dir.
type Opener func(ctx context.Context, u *url.URL) (Backend, error)
