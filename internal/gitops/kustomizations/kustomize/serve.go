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

	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/apart"
)

// Serve is what the program does: it builds the directories that it is told to, and asks for their files, until in ends.
func Serve(in io.Reader, out io.Writer) error {
	t := &asking{in: bufio.NewReader(in), out: out}
	for {
		var m message
		err := apart.Receive(t.in, &m)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("receive what is to be built: %w", err)
		}
		if err := t.build(m.Dir); err != nil {
			return fmt.Errorf("send what was built: %w", err)
		}
	}
}

func (t *asking) build(dir string) error {
	resources, err := Run(t, dir)
	if t.broken != nil {
		return t.broken
	}
	if err != nil {
		return apart.Send(t.out, message{End: &end{Error: shortened(err.Error())}})
	}
	for _, r := range resources {
		o := made{APIVersion: r.GetApiVersion(), Kind: r.GetKind(), Namespace: r.GetNamespace(), Name: r.GetName(), ID: IDOf(r)}
		// A key that stands twice is only noticed here; the other side says where.
		if data, err := r.MarshalJSON(); err == nil {
			o.JSON = data
		}
		if err := apart.Send(t.out, message{Object: &o}); err != nil {
			return err
		}
	}
	return apart.Send(t.out, message{End: &end{}})
}

// shortened keeps errors that quote whole objects from being larger than a message.
func shortened(text string) string { return text[:min(len(text), 64<<10)] }

// asking is the tree as the program sees it: every call is asked of the one that started it.
type asking struct {
	in     *bufio.Reader
	out    io.Writer
	broken error
}

func (t *asking) ask(call, path string) answer {
	if t.broken == nil {
		t.broken = apart.Send(t.out, message{Ask: &question{Call: call, Path: path}})
	}
	if t.broken == nil {
		var m message
		if t.broken = apart.Receive(t.in, &m); t.broken == nil && m.Answer != nil {
			return *m.Answer
		}
	}
	return answer{Error: "the tree cannot be read any more"}
}

// remoteError is an error of the tree.
type remoteError struct {
	text    string
	missing bool
}

func (e *remoteError) Error() string { return e.text }

// Is tells that there is no such file, which kustomize asks.
func (e *remoteError) Is(target error) bool { return e.missing && target == fs.ErrNotExist }

func (a answer) err() error {
	if a.Error == "" {
		return nil
	}
	return &remoteError{a.Error, a.Missing}
}

// Exists tells whether there is a file or a directory.
func (t *asking) Exists(path string) bool { return t.ask("Exists", path).Yes }

// IsDir tells whether there is a directory.
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

// Glob lists what matches.
func (t *asking) Glob(pattern string) ([]string, error) {
	a := t.ask("Glob", pattern)
	return a.Names, a.err()
}

// CleanedAbs follows links.
func (t *asking) CleanedAbs(path string) (filesys.ConfirmedDir, string, error) {
	a := t.ask("CleanedAbs", path)
	return filesys.ConfirmedDir(a.Dir), a.File, a.err()
}

var errReadOnly = errors.New("a tree is only read")

// Open is not used by kustomize to read what it builds.
func (t *asking) Open(string) (filesys.File, error) { return nil, errReadOnly }

// Walk is not used by kustomize to read what it builds.
func (t *asking) Walk(string, filepath.WalkFunc) error { return errReadOnly }

// Create refuses to write.
func (t *asking) Create(string) (filesys.File, error) { return nil, errReadOnly }

// Mkdir refuses to write.
func (t *asking) Mkdir(string) error { return errReadOnly }

// MkdirAll refuses to write.
func (t *asking) MkdirAll(string) error { return errReadOnly }

// RemoveAll refuses to write.
func (t *asking) RemoveAll(string) error { return errReadOnly }

// WriteFile refuses to write.
func (t *asking) WriteFile(string, []byte) error { return errReadOnly }

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
		err = fmt.Errorf("%s is no call of a tree", q.Call)
	}
	if err != nil {
		return answer{Error: shortened(err.Error()), Missing: errors.Is(err, fs.ErrNotExist)}
	}
	return a
}
