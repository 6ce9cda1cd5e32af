// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/yuba-dev/yuba/internal/gitops/sources/upstream"
)

// Edit describes changes of files, and where to push the commit with them.
type Edit struct {
	// From is the commit to change if Branch does not exist.
	From Ref
	// Branch is the branch to push to; the commit is added to it if it exists. Empty pushes only to To.
	Branch string
	// To is a further full reference to push to, such as refs/for/main; empty for none.
	To string
	// Path is the directory whose files are changed; empty for all.
	Path string
	// Wanted selects files by their path. Only files are offered, no links.
	Wanted func(path string) bool
	// MaxFile is the size in bytes up to which files are read.
	MaxFile int64
	// Begin begins an attempt: the commit may have to be made anew on a branch that has moved.
	Begin func() Editor
	// Seen is a commit whose files need no change. A look that finds it ends there.
	Seen string
	// Author and Sign make the commit; Sign is nil for unsigned ones.
	Author Author
	Sign   func(payload []byte) (signature string, err error)
	// Options are sent to the server.
	Options map[string]string
}

// Editor changes the files of one attempt.
type Editor interface {
	// File returns the new content of a file; changed is false to keep it.
	File(path string, content []byte) (edited []byte, changed bool)
	// TooBig is called instead of File for files of more than MaxFile bytes.
	TooBig(path string, size int64)
	// Message returns the commit's message, after the files.
	Message() (string, error)
}

// Author is the author and the committer of a commit.
type Author struct {
	Name, Email string
	When        time.Time
}

// Edited is the result of an edit.
type Edited struct {
	// Base is the revision whose files were read, as main@sha1:…; BaseCommit is its commit.
	Base, BaseCommit string
	// Unread is true if BaseCommit was already seen.
	Unread bool
	// Commit is the pushed commit, Revision its revision; empty if nothing had to change.
	Commit, Revision string
	// Message is that of the commit, Pushed are the references that it was pushed to.
	Message string
	Pushed  []string
	// Attempts counts commits that were made anew because somebody else pushed meanwhile, and the last.
	Attempts int
}

// editAttempts limits how often a commit is made anew, editPause is the first pause between them.
const (
	editAttempts = 6
	editPause    = 100 * time.Millisecond
)

// errMoved means that the branch has moved since its files were read.
var errMoved = errors.New("the branch has moved")

// Edit changes files of an upstream and pushes a commit with them. It never forces: a branch that
// moved meanwhile is read and changed again. Failures are *archive.FetchError.
func (m *Mirrors) Edit(ctx context.Context, up Upstream, e Edit) (*Edited, error) {
	mirror, err := m.mirror(up)
	if err != nil {
		return nil, explain("change", up, err)
	}
	var done *Edited
	for attempt := 1; ; attempt++ {
		err = guarded(func() (err error) { done, err = mirror.edit(ctx, e); return err })
		if !errors.Is(err, errMoved) {
			break
		}
		if attempt == editAttempts {
			err = &upstream.Problem{Text: "others pushed to the branch during each attempt; the next reconciliation tries again"}
			break
		}
		// Others that lost the same race try again, too.
		pause := time.Duration(float64(editPause) * float64(attempt) * (0.5 + rand.Float64()))
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, explain("change", up, ctx.Err())
		}
	}
	if err != nil {
		return nil, explain("change", up, err)
	}
	if done.Commit != "" {
		// Look at once, so that everybody who follows the upstream is told.
		_, _ = mirror.list(ctx, 0)
	}
	return done, nil
}

// edit makes one attempt.
func (m *mirror) edit(ctx context.Context, e Edit) (*Edited, error) {
	given, err := m.list(ctx, 0)
	if err != nil {
		return nil, err
	}
	base, err := m.base(ctx, given, e)
	if err != nil {
		return nil, err
	}
	done := &Edited{Base: base.revision(), BaseCommit: base.commit.String()}
	if done.Unread = done.BaseCommit == e.Seen; done.Unread {
		return done, nil
	}
	changes := &changes{ctx: ctx, edit: e, entries: m.all.options.MaxEntries}
	var root plumbing.Hash
	err = m.with(ctx, base, func(o *objects) error {
		changes.start(o)
		root, err = changes.tree(base.commit)
		return err
	})
	if err != nil || root.IsZero() {
		return done, err
	}
	if done.Message, err = changes.editor.Message(); err != nil {
		return nil, err
	}
	commit, err := changes.commit(root, base.commit, done.Message)
	if err != nil {
		return nil, err
	}
	if done.Pushed, err = m.push(ctx, given, e, base, commit, changes.made); err != nil {
		return nil, err
	}
	done.Commit = commit.String()
	base.commit, base.name = commit, e.Branch
	done.Revision = base.revision()
	return done, nil
}
