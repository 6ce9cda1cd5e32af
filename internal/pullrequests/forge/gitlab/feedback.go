// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package gitlab

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge/wire"
)

type object = map[string]any

// results are GitLab's names: those that we write, then others that mean the same.
var results = map[string]forge.Result{"pending": forge.Pending, "success": forge.Success,
	"created": forge.Pending, "running": forge.Pending, "skipped": forge.Success}

var states = map[forge.Result]string{forge.Pending: "pending", forge.Success: "success", forge.Failure: "failed"}

// SetStatus implements forge.Forge.
func (f *connection) SetStatus(ctx context.Context, commit string, s forge.Status) error {
	s = wire.FitStatus(s, limits)
	return f.writes.SetStatus(ctx, f, commit, s, func() error {
		err := f.ask(ctx, "set the status "+strconv.Quote(s.Name), http.MethodPost, "/statuses/"+url.PathEscape(commit),
			object{"name": s.Name, "state": states[s.Result], "description": s.Description, "target_url": s.URL}, nil)
		var refused *forge.RefusedError
		if errors.As(err, &refused) && strings.Contains(refused.Reason, "Cannot transition status") {
			return nil // it is pending already, and GitLab does not change the words of such a status
		}
		return err
	})
}

// Statuses implements forge.Forge.
func (f *connection) Statuses(ctx context.Context, commit string) ([]forge.Status, error) {
	type status struct {
		Name        string `json:"name"`
		Status      string `json:"status"`
		Description string `json:"description"`
		TargetURL   string `json:"target_url"`
	}
	var out []forge.Status
	_, err := wire.List(ctx, f.Client, f.list("list the statuses", "/repository/commits/"+url.PathEscape(commit)+"/statuses"), func(s status) bool {
		result, ok := results[s.Status]
		if !ok {
			result = forge.Failure
		}
		out = append(out, forge.Status{Name: s.Name, Result: result, Description: s.Description, URL: s.TargetURL})
		return true
	})
	return wire.Newest(out), err
}

type note struct {
	ID      int64     `json:"id"`
	Body    string    `json:"body"`
	Author  user      `json:"author"`
	System  bool      `json:"system"`
	Created time.Time `json:"created_at"`
	Updated time.Time `json:"updated_at"`
}

func (f *connection) note(n note, number int, me int64) forge.Comment {
	return forge.Comment{ID: strconv.FormatInt(n.ID, 10), Author: n.Author.forge(), Text: n.Body, Mine: n.Author.ID == me && me != 0,
		URL: f.page() + "/-" + numbered(number) + "#note_" + strconv.FormatInt(n.ID, 10), Created: n.Created, Updated: n.Updated}
}

// page is the address of the project's page.
func (f *connection) page() string {
	server := strings.TrimSuffix(f.Base(), "/api/v4")
	path, _ := url.PathUnescape(strings.TrimPrefix(f.project, "/projects/")) //nolint:errcheck // we escaped it
	return server + "/" + path
}

// Comments implements forge.Forge.
func (f *connection) Comments(ctx context.Context, number int, since time.Time) ([]forge.Comment, error) {
	me, err := f.me(ctx)
	if err != nil {
		return nil, err
	}
	var out []forge.Comment
	call := f.list("list the comments of merge request "+strconv.Itoa(number), numbered(number)+"/notes", "order_by", "updated_at", "sort", "desc")
	_, err = wire.List(ctx, f.Client, call, func(n note) bool {
		if n.Updated.Before(since.Truncate(time.Millisecond)) {
			return false // the others are older
		}
		if !n.System {
			out = append(out, f.note(n, number, me))
		}
		return true
	})
	return wire.Since(out, func(forge.Comment) bool { return true }), err
}

// SetComment implements forge.Forge.
func (f *connection) SetComment(ctx context.Context, number int, marker, text string) (forge.Comment, error) {
	list := func() ([]forge.Comment, error) { return f.Comments(ctx, number, time.Time{}) }
	write := func(doing, method, path string) (forge.Comment, error) {
		var n note
		err := f.ask(ctx, doing, method, path, object{"body": text}, &n)
		return f.note(n, number, n.Author.ID), err
	}
	return f.writes.SetComment(number, marker, text, list,
		func(c forge.Comment) (forge.Comment, error) {
			return write("edit the comment on merge request "+strconv.Itoa(number), http.MethodPut, numbered(number)+"/notes/"+c.ID)
		},
		func() (forge.Comment, error) {
			return write("comment on merge request "+strconv.Itoa(number), http.MethodPost, numbered(number)+"/notes")
		})
}

var reactions = map[forge.Reaction]string{forge.Seen: "eyes", forge.Good: "thumbsup", forge.Bad: "thumbsdown"}

// React implements forge.Forge.
func (f *connection) React(ctx context.Context, number int, comment string, r forge.Reaction) error {
	if _, err := strconv.ParseInt(comment, 10, 64); err != nil {
		return errors.New("the comment's id is not a number")
	}
	me, err := f.me(ctx)
	if err != nil {
		return err
	}
	// GitLab answers 404 to an emoji that is there already, as to a comment that is not.
	type award struct {
		Name string `json:"name"`
		User user   `json:"user"`
	}
	path, there := numbered(number)+"/notes/"+comment+"/award_emoji", false
	if _, err := wire.List(ctx, f.Client, f.list("list the reactions to a comment", path), func(a award) bool {
		there = there || a.Name == reactions[r] && a.User.ID == me
		return true
	}); err != nil || there {
		return err
	}
	return f.ask(ctx, "react to a comment", http.MethodPost, path, object{"name": reactions[r]}, nil)
}
