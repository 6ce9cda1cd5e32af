// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

// Writes remembers what a connection wrote, so that it writes again without a look at what is there: of a pull request
// with many comments, that would be many requests. The zero value is ready for use, and safe for concurrent use.
//
// It is a memory of this process only. What it does not know is looked up first, and so is what it might write a second
// time. If a remembered comment is gone, the list decides as if nothing were known.
type Writes struct {
	mu       sync.Mutex
	comments recent[written]
	statuses recent[forge.Status]
}

// written is a comment that was written: its id and its text.
type written struct {
	id  string
	sum [sha256.Size]byte
}

// SetComment writes our comment on a pull request: it edits the oldest one of ours that has the marker, or creates one.
// Comments of others are left alone, even if they contain the marker. An edit gets the comment's id only, unless it was
// listed.
func (w *Writes) SetComment(number int, marker, text string, list func() ([]forge.Comment, error), edit func(forge.Comment) (forge.Comment, error), create func() (forge.Comment, error)) (forge.Comment, error) {
	if marker == "" || !strings.Contains(text, marker) {
		return forge.Comment{}, fmt.Errorf("the comment does not contain its marker %q. This is a bug in Yuba", marker)
	}
	key, sum := strconv.Itoa(number)+" "+marker, sha256.Sum256([]byte(text))
	c, done, err := w.again(key, sum, edit)
	if !done {
		c, err = setComment(marker, text, list, edit, create)
	}
	if err == nil && c.ID != "" {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.comments.put(key, written{c.ID, sum})
	}
	return c, err
}

// again edits the remembered comment, if there is one with another text. After any failure the next write looks at the
// list: forges do not agree on how they say that a comment is gone.
func (w *Writes) again(key string, sum [sha256.Size]byte, edit func(forge.Comment) (forge.Comment, error)) (c forge.Comment, done bool, err error) {
	w.mu.Lock()
	last, known := w.comments.get(key)
	w.comments.drop(key)
	w.mu.Unlock()
	if !known || last.sum == sum {
		return c, false, nil
	}
	c, err = edit(forge.Comment{ID: last.id})
	var gone *forge.NotFoundError
	return c, !errors.As(err, &gone), err
}

// setComment writes our comment as the list says.
func setComment(marker, text string, list func() ([]forge.Comment, error), edit func(forge.Comment) (forge.Comment, error), create func() (forge.Comment, error)) (forge.Comment, error) {
	comments, err := list()
	if err != nil {
		return forge.Comment{}, err
	}
	i := slices.IndexFunc(comments, func(c forge.Comment) bool { return c.Mine && strings.Contains(c.Text, marker) })
	switch {
	case i < 0:
		return create()
	case comments[i].Text == text:
		return comments[i], nil
	}
	return edit(comments[i])
}

// SetStatus sets a status of a commit, unless it has an equal one: forges refuse or accumulate these.
func (w *Writes) SetStatus(ctx context.Context, f forge.Forge, commit string, s forge.Status, write func() error) error {
	key := commit + " " + s.Name
	w.mu.Lock()
	last, known := w.statuses.get(key)
	w.statuses.drop(key) // a write that fails may have been taken
	w.mu.Unlock()
	same := false
	if !known || sameStatus(last, s) {
		statuses, err := f.Statuses(ctx, commit)
		if err != nil {
			return err
		}
		same = slices.ContainsFunc(statuses, func(old forge.Status) bool { return sameStatus(old, s) })
	}
	if !same {
		if err := write(); err != nil {
			return err
		}
	}
	s.Annotations = nil
	w.mu.Lock()
	defer w.mu.Unlock()
	w.statuses.put(key, s)
	return nil
}

// sameStatus reports whether two statuses look the same.
func sameStatus(a, b forge.Status) bool {
	return a.Name == b.Name && a.Result == b.Result && a.Description == b.Description && a.URL == b.URL
}

// maxRecent limits what is remembered of each kind.
const maxRecent = 1000

// recent has the values that were put last.
type recent[V any] struct {
	values map[string]V
	order  []string // the oldest first
}

func (r *recent[V]) get(key string) (V, bool) {
	value, ok := r.values[key]
	return value, ok
}

func (r *recent[V]) put(key string, value V) {
	r.drop(key)
	if r.values == nil {
		r.values = map[string]V{}
	}
	r.values[key], r.order = value, append(r.order, key)
	if len(r.order) > maxRecent {
		r.drop(r.order[0])
	}
}

func (r *recent[V]) drop(key string) {
	if _, ok := r.values[key]; ok {
		delete(r.values, key)
		r.order = slices.DeleteFunc(r.order, func(k string) bool { return k == key })
	}
}
