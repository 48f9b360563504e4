package tool

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// opRearrange moves and removes files, all or none; opVacant finds out whether a new one can be made,
// opRemovable whether one can go.
const (
	opRearrange = "rearrange"
	opVacant    = "vacant"
	opRemovable = "removable"
)

// undoWait bounds how long a patch that failed takes to put back what it has changed.
const undoWait = 10 * time.Second

// edit is what happens to one file.
type edit struct {
	section
	request request
	file    prepared // without symlinks
	target  request  // where it is moved
	there   prepared
	text    fileText
	opaque  bool // it is no text, or too much
	after   string
}

// edits is a patch on its way. All of it is checked before a byte is written, and what fails then is
// undone.
type edits struct {
	env    *Env
	list   []*edit
	notes  []string
	unlock []func()
	undo   []func(context.Context) error
}

// applyPatch applies a patch of whole files: all of it or nothing.
func (a *patchArgs) applyPatch(ctx context.Context, env *Env) (*patchResult, error) {
	sections, err := parseV4A(*a.Patch)
	if err != nil {
		return nil, err
	}
	e := &edits{env: env}
	defer func() {
		for _, unlock := range e.unlock {
			unlock()
		}
	}()
	for _, s := range sections {
		if err := e.add(ctx, s); err != nil {
			return nil, err
		}
	}
	if err := e.lock(ctx); err != nil {
		return nil, err
	}
	for _, d := range e.list {
		if err := e.compute(ctx, d, a.Diff); err != nil {
			return nil, err
		}
	}
	if err := e.commit(ctx); err != nil {
		return nil, errors.Join(err, e.rollBack(ctx))
	}
	return e.result(a.Diff), nil
}

// add finds out whether one part of the patch is possible, as far as that can be told from outside.
func (e *edits) add(ctx context.Context, s section) (err error) {
	d := &edit{section: s}
	if d.request, err = e.env.locate(s.path); err != nil {
		return err
	}
	d.request.Op = "prepare"
	switch s.kind {
	case v4aAdd:
		d.request.Op = opVacant
	case v4aDelete:
		d.request.Op = opRemovable
	}
	if d.file, err = e.env.Files.look(ctx, d.request); err != nil {
		return err
	}
	if s.to != "" {
		if d.target, err = e.env.locate(s.to); err != nil {
			return err
		}
		d.target.Op, d.target.Source = opVacant, d.request.Path
		if d.there, err = e.env.Files.look(ctx, d.target); err != nil {
			return err
		}
	}
	e.list = append(e.list, d)
	return nil
}

// lock locks all files against other calls, in an order that all calls have.
func (e *edits) lock(ctx context.Context) error {
	names := map[string]string{}
	var paths []string
	for _, d := range e.list {
		for path, name := range map[string]string{d.file.Path: d.path, d.there.Path: d.to} {
			if path == "" {
				continue
			}
			if _, twice := names[path]; twice {
				return namedTwice(name)
			}
			names[path] = name
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	for _, path := range paths {
		unlock, err := e.env.Files.paths.lock(ctx, path)
		if err != nil {
			return err
		}
		e.unlock = append(e.unlock, unlock)
	}
	return nil
}

// compute reads a file and makes its new text. One that goes, or only moves, is read for a diff alone,
// and may be anything.
func (e *edits) compute(ctx context.Context, d *edit, diff bool) error {
	if d.kind == v4aAdd {
		d.after = d.content
		return nil
	}
	if len(d.hunks) == 0 && !diff {
		return nil
	}
	data, err := readWhole(ctx, e.env, d.file.Path, d.request.Name)
	if err == nil {
		if d.text, err = decodeText(data); err != nil {
			err = fileError(d.request.Name, err)
		}
	}
	if len(d.hunks) == 0 {
		d.opaque = err != nil
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	if err := d.patch(ctx, e); err != nil {
		return fileError(d.request.Name, err)
	}
	return nil
}

func (d *edit) patch(ctx context.Context, e *edits) (err error) {
	var notes []string
	d.after, notes, err = patchText(ctx, d.text.body, d.hunks)
	for _, note := range notes {
		e.notes = append(e.notes, clipPath(d.request.Name)+": "+note)
	}
	return err
}

// commit writes. Texts come first, for they need room on the disk; moves and removals go all at once.
func (e *edits) commit(ctx context.Context) error {
	var last request
	for _, d := range e.list {
		var err error
		switch {
		case d.kind == v4aAdd:
			err = e.make(ctx, d)
		case d.kind == v4aDelete:
			last.Removes = append(last.Removes, place{d.request.Path, d.request.Name})
		case len(d.hunks) > 0:
			err = e.write(ctx, d)
		}
		if err == nil && d.to != "" {
			last.Moves = append(last.Moves, [2]place{{d.request.Path, d.request.Name}, {d.there.Path, d.target.Name}})
			d.target.Op, d.target.New = "prepare", true // which makes the directories
			_, err = e.env.Files.look(ctx, d.target)
		}
		if err != nil {
			return err
		}
	}
	if len(last.Moves)+len(last.Removes) == 0 {
		return nil
	}
	return e.last(ctx, last)
}

// last moves and removes. Once it has begun the end of the call does not stop it: a text must not be put
// back where its file may be no more.
func (e *edits) last(ctx context.Context, r request) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoWait)
	defer cancel()
	err := e.rearrange(ctx, r)
	if lost := (lostError{}); errors.As(err, &lost) {
		e.undo = nil
		return fmt.Errorf("the texts are written, but whether files were moved and removed is not known: %w", err)
	}
	return err
}

func (e *edits) rearrange(ctx context.Context, r request) error {
	r.Op, r.ID, r.admit = opRearrange, rand.Text(), e.env.admit
	_, err := e.env.Files.call(ctx, r)
	return err
}

// make writes a new file.
func (e *edits) make(ctx context.Context, d *edit) error {
	r := d.request
	r.Op, r.New = "prepare", true
	file, err := e.env.Files.look(ctx, r)
	if err != nil {
		return err
	}
	e.undo = append(e.undo, func(ctx context.Context) error {
		return e.rearrange(ctx, request{Removes: []place{{file.Path, r.Name}}, Missing: true}) // it may not have been made
	})
	return e.env.put(ctx, r, file, strings.NewReader(d.content))
}

// write replaces the text of a file.
func (e *edits) write(ctx context.Context, d *edit) error {
	e.undo = append(e.undo, func(ctx context.Context) error {
		err := e.env.put(ctx, d.request, d.file, d.text.encode(d.text.body))
		if err != nil && e.isAsBefore(ctx, d) { // what could not be written cannot be written back
			return nil
		}
		return err
	})
	return e.env.put(ctx, d.request, d.file, d.text.encode(d.after))
}

// isAsBefore tells whether a file holds what it held before the patch.
func (e *edits) isAsBefore(ctx context.Context, d *edit) bool {
	data, err := readWhole(ctx, e.env, d.file.Path, d.request.Name)
	if err != nil {
		return false
	}
	before, err := io.ReadAll(d.text.encode(d.text.body))
	return err == nil && bytes.Equal(data, before)
}

// rollBack puts back what was there. The call may be over: that is no reason to leave half of a patch.
func (e *edits) rollBack(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoWait)
	defer cancel()
	var errs []error
	for _, undo := range slices.Backward(e.undo) {
		if err := undo(ctx); err != nil {
			errs = append(errs, fmt.Errorf("and what was changed before that could not be put back: %w", err))
		}
	}
	return errors.Join(errs...)
}

// result counts what was done.
func (e *edits) result(diff bool) *patchResult {
	r := &patchResult{Status: "success", Success: true, Note: strings.Join(e.notes, "; ")}
	var diffs strings.Builder
	var names []string
	for _, d := range e.list {
		r.Replacements += max(1, len(d.hunks))
		names = append(names, d.request.Name)
		if d.to != "" {
			names = append(names, d.target.Name)
		}
		diffs.WriteString(d.diff())
	}
	if diff {
		r.patchDiff = &patchDiff{Diff: diffs.String(), FilesModified: names}
	}
	return r
}

// diff is the change as a unified diff, headed by a move.
func (d *edit) diff() string {
	name := d.request.Name
	switch {
	case d.kind == v4aAdd:
		return unified("", name, "", d.after)
	case d.kind == v4aDelete && d.opaque:
		return fmt.Sprintf("deleted file %s\n", name)
	case d.kind == v4aDelete:
		return unified(name, "", d.text.body, "")
	case d.to == "":
		return unified(name, name, d.text.body, d.after)
	}
	head := fmt.Sprintf("rename from %s\nrename to %s\n", name, d.target.Name)
	if len(d.hunks) == 0 {
		return head
	}
	return head + unified(name, d.target.Name, d.text.body, d.after)
}
