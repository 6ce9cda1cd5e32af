// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge/wire"
)

// commenting are the comments of a pull request, and what was asked about them.
type commenting struct {
	comments []forge.Comment
	asked    []string
	// fails is what the next edit fails with.
	fails error
}

func (c *commenting) set(w *wire.Writes, text string) error {
	c.asked = nil
	_, err := w.SetComment(7, "mark", text,
		func() ([]forge.Comment, error) {
			c.asked = append(c.asked, "list")
			return slices.Clone(c.comments), nil
		},
		func(old forge.Comment) (forge.Comment, error) {
			c.asked = append(c.asked, "edit "+old.ID)
			if err := c.fails; err != nil {
				c.fails = nil
				return forge.Comment{}, err
			}
			i := slices.IndexFunc(c.comments, func(o forge.Comment) bool { return o.ID == old.ID })
			if i < 0 {
				return forge.Comment{}, &forge.NotFoundError{}
			}
			c.comments[i].Text = text
			return c.comments[i], nil
		},
		func() (forge.Comment, error) {
			c.asked = append(c.asked, "create")
			c.comments = append(c.comments, forge.Comment{ID: fmt.Sprint(len(c.comments) + 1), Text: text, Mine: true})
			return c.comments[len(c.comments)-1], nil
		})
	return err
}

// TestAWrittenCommentIsNotLookedFor: until something about it fails, or it may be equal.
func TestAWrittenCommentIsNotLookedFor(t *testing.T) {
	c, w := &commenting{comments: []forge.Comment{{ID: "0", Text: "mark of somebody"}}}, &wire.Writes{}
	for _, step := range []struct {
		sentence, text string
		before         func()
		want           string
		fails          bool
	}{
		{"the first", "mark one", nil, "list, create", false},
		{"another text", "mark two", nil, "edit 2", false},
		{"the same text", "mark two", nil, "list", false},
		{"after a look", "mark three", nil, "edit 2", false},
		{"a failure", "mark four", func() { c.fails = &forge.RefusedError{} }, "edit 2", true},
		{"after a failure", "mark four", nil, "list, edit 2", false},
		{"somebody has deleted it", "mark five", func() { c.comments[1] = forge.Comment{ID: "x"} }, "edit 2, list, create", false},
		{"another server does not know", "mark six", func() { w = &wire.Writes{} }, "list, edit 3", false},
	} {
		if step.before != nil {
			step.before()
		}
		if err := c.set(w, step.text); (err != nil) != step.fails {
			t.Errorf("%s: %v", step.sentence, err)
		}
		if got := strings.Join(c.asked, ", "); got != step.want {
			t.Errorf("%s: %s; want %s", step.sentence, got, step.want)
		}
	}
	if err := c.set(w, "without it"); err == nil || len(c.asked) > 0 {
		t.Errorf("a comment without its mark: %v, %v", err, c.asked)
	}
}

// noting is a forge that has statuses, and notes what it is asked.
type noting struct {
	forge.Forge
	statuses []forge.Status
	asked    []string
}

func (n *noting) Statuses(context.Context, string) ([]forge.Status, error) {
	n.asked = append(n.asked, "list")
	return wire.Newest(slices.Clone(n.statuses)), nil
}

// TestAWrittenStatusIsNotLookedFor: until a write fails, or may add an equal one.
func TestAWrittenStatusIsNotLookedFor(t *testing.T) {
	n, w := &noting{}, &wire.Writes{}
	for _, step := range []struct {
		sentence, commit, description string
		fails                         error
		want                          string
	}{
		{"the first", "a", "begun", nil, "list, write"},
		{"another one", "a", "ended", nil, "write"},
		{"the same", "a", "ended", nil, "list"},
		{"after a look", "a", "again", nil, "write"},
		{"a failure", "a", "down", errors.New("down"), "write"},
		{"after a failure", "a", "down", nil, "list, write"},
		{"another commit", "b", "begun", nil, "list, write"},
	} {
		n.asked = nil
		s := forge.Status{Name: "yuba", Description: step.description, Result: forge.Pending, Annotations: []forge.Annotation{{}}}
		err := w.SetStatus(t.Context(), n, step.commit, s, func() error {
			n.asked = append(n.asked, "write")
			if step.fails == nil {
				n.statuses = append([]forge.Status{s}, n.statuses...)
			}
			return step.fails
		})
		if !errors.Is(err, step.fails) {
			t.Errorf("%s: %v", step.sentence, err)
		}
		if got := strings.Join(n.asked, ", "); got != step.want {
			t.Errorf("%s: %s; want %s", step.sentence, got, step.want)
		}
		if step.commit == "a" && step.sentence == "after a failure" {
			n.statuses = nil // those of another commit
		}
	}
}

// TestOnlyTheLatestWritesAreRemembered: a server that runs for a year does not grow.
func TestOnlyTheLatestWritesAreRemembered(t *testing.T) {
	n, w := &noting{}, &wire.Writes{}
	set := func(commit int, description string) string {
		n.asked, n.statuses = nil, nil
		if err := w.SetStatus(t.Context(), n, fmt.Sprint(commit), forge.Status{Name: "yuba", Description: description}, func() error { return nil }); err != nil {
			t.Fatal(err)
		}
		return strings.Join(n.asked, ", ")
	}
	for commit := range 1001 {
		set(commit, "begun")
	}
	if first, last := set(0, "ended"), set(1000, "ended"); first != "list" || last != "" {
		t.Errorf("of the first commit %q is asked, of the last %q", first, last)
	}
}
