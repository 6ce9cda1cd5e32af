// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/subprocess"
)

// Serve builds requested directories, whose files it requests, until in ends.
func Serve(in io.Reader, out io.Writer) error {
	t := &asking{in: bufio.NewReader(in), out: out}
	for {
		var m message
		err := subprocess.Receive(t.in, &m)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("receive a request: %w", err)
		}
		if err := t.build(m.Dir); err != nil {
			return fmt.Errorf("send a build: %w", err)
		}
	}
}

func (t *asking) build(dir string) error {
	objects, err := Run(t, dir)
	if t.broken != nil {
		return t.broken
	}
	if err != nil {
		return subprocess.Send(t.out, message{End: &end{Error: shortened(err.Error())}})
	}
	for _, o := range objects {
		if err := subprocess.Send(t.out, message{Object: o}); err != nil {
			return err
		}
	}
	return subprocess.Send(t.out, message{End: &end{}})
}

// shortened makes errors that quote whole objects fit in a message.
func shortened(text string) string { return text[:min(len(text), 64<<10)] }

// asking is the tree in the program: it sends every call to the process that started it.
type asking struct {
	ReadOnly
	in     *bufio.Reader
	out    io.Writer
	broken error
}

func (t *asking) ask(call, path string) answer {
	if t.broken == nil {
		t.broken = subprocess.Send(t.out, message{Ask: &question{Call: call, Path: path}})
	}
	if t.broken == nil {
		var m message
		if t.broken = subprocess.Receive(t.in, &m); t.broken == nil && m.Answer != nil {
			return *m.Answer
		}
	}
	return answer{Error: "the tree is no longer available"}
}

// remoteError is an error of the tree.
type remoteError struct {
	text    string
	missing bool
}

func (e *remoteError) Error() string { return e.text }

// Is reports a missing file, which kustomize checks.
func (e *remoteError) Is(target error) bool { return e.missing && target == fs.ErrNotExist }

func (a answer) err() error {
	if a.Error == "" {
		return nil
	}
	return &remoteError{a.Error, a.Missing}
}

// Exists reports whether a file or a directory exists.
func (t *asking) Exists(path string) bool { return t.ask("Exists", path).Yes }

// IsDir reports whether a directory exists.
func (t *asking) IsDir(path string) bool { return t.ask("IsDir", path).Yes }

// ReadFile reads a file.
func (t *asking) ReadFile(path string) ([]byte, error) {
	a := t.ask("ReadFile", path)
	return a.Data, a.err()
}

// ReadDir lists a directory.
func (t *asking) ReadDir(path string) ([]string, error) {
	a := t.ask("ReadDir", path)
	return a.Names, a.err()
}

// Glob lists the matching files.
func (t *asking) Glob(pattern string) ([]string, error) {
	a := t.ask("Glob", pattern)
	return a.Names, a.err()
}

// CleanedAbs follows links.
func (t *asking) CleanedAbs(path string) (filesys.ConfirmedDir, string, error) {
	a := t.ask("CleanedAbs", path)
	return filesys.ConfirmedDir(a.Dir), a.File, a.err()
}

// Walk is not needed: kustomize lists directories.
func (t *asking) Walk(string, filepath.WalkFunc) error { return errReadOnly }

// answered calls the tree for a question.
func answered(tree filesys.FileSystem, q question) answer {
	var a answer
	var err error
	switch q.Call {
	case "Exists":
		a.Yes = tree.Exists(q.Path)
	case "IsDir":
		a.Yes = tree.IsDir(q.Path)
	case "ReadFile":
		a.Data, err = tree.ReadFile(q.Path)
	case "ReadDir":
		a.Names, err = tree.ReadDir(q.Path)
	case "Glob":
		a.Names, err = tree.Glob(q.Path)
	case "CleanedAbs":
		var dir filesys.ConfirmedDir
		dir, a.File, err = tree.CleanedAbs(q.Path)
		a.Dir = string(dir)
	default:
		err = fmt.Errorf("the tree does not have a call %s", q.Call)
	}
	if err != nil {
		return answer{Error: shortened(err.Error()), Missing: errors.Is(err, fs.ErrNotExist)}
	}
	return a
}
