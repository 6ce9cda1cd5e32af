// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package github

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge/wire"
)

type object = map[string]any

// results are the forges' names of results. Both forges have further ones for failures.
var results = map[string]forge.Result{"pending": forge.Pending, "success": forge.Success}

func result(name string) forge.Result {
	if r, ok := results[name]; ok {
		return r
	}
	return forge.Failure
}

// SetStatus implements forge.Forge.
func (f *connection) SetStatus(ctx context.Context, commit string, s forge.Status) error {
	s = wire.FitStatus(s, f.limits)
	if f.app != nil {
		return f.setCheck(ctx, commit, s)
	}
	return f.writes.SetStatus(ctx, f, commit, s, func() error {
		return f.ask(ctx, "set the status "+strconv.Quote(s.Name), http.MethodPost, "/statuses/"+url.PathEscape(commit),
			object{"context": s.Name, "state": string(s.Result), "description": s.Description, "target_url": s.URL}, nil)
	})
}

// Statuses implements forge.Forge.
func (f *connection) Statuses(ctx context.Context, commit string) ([]forge.Status, error) {
	if f.app != nil {
		return f.checks(ctx, commit)
	}
	type status struct {
		ID          int64  `json:"id"`
		Context     string `json:"context"`
		State       string `json:"state"`
		Status      string `json:"status"` // the same at Gitea
		Description string `json:"description"`
		TargetURL   string `json:"target_url"`
	}
	var all []status
	_, err := wire.List(ctx, f.Client, f.list("list the statuses", "/commits/"+url.PathEscape(commit)+"/statuses", nil), func(s status) bool {
		all = append(all, s)
		return true
	})
	// Gitea's order is that of seconds.
	slices.SortStableFunc(all, func(a, b status) int { return cmp.Compare(b.ID, a.ID) })
	var out []forge.Status
	for _, s := range all {
		out = append(out, forge.Status{Name: s.Context, Result: result(s.State + s.Status), Description: s.Description, URL: s.TargetURL})
	}
	return wire.Newest(out), err
}

type comment struct {
	ID      int64     `json:"id"`
	Body    string    `json:"body"`
	HTMLURL string    `json:"html_url"`
	User    user      `json:"user"`
	Created time.Time `json:"created_at"`
	Updated time.Time `json:"updated_at"`
}

func (c comment) forge(me string) forge.Comment {
	return forge.Comment{ID: strconv.FormatInt(c.ID, 10), Author: c.User.forge(), Text: c.Body, URL: c.HTMLURL, Mine: c.User.Login == me && me != "",
		Created: c.Created, Updated: c.Updated}
}

// Comments implements forge.Forge.
func (f *connection) Comments(ctx context.Context, number int, since time.Time) ([]forge.Comment, error) {
	me, err := f.me(ctx)
	if err != nil {
		return nil, err
	}
	query := url.Values{}
	if !since.IsZero() {
		query.Set("since", since.UTC().Format(time.RFC3339))
	}
	var out []forge.Comment
	_, err = wire.List(ctx, f.Client, f.list("list the comments of pull request "+strconv.Itoa(number), "/issues/"+strconv.Itoa(number)+"/comments", query), func(c comment) bool {
		out = append(out, c.forge(me))
		return true
	})
	return wire.Since(out, func(c forge.Comment) bool { return !c.Updated.Before(since.Truncate(time.Second)) }), err
}

// SetComment implements forge.Forge.
func (f *connection) SetComment(ctx context.Context, number int, marker, text string) (forge.Comment, error) {
	list := func() ([]forge.Comment, error) { return f.Comments(ctx, number, time.Time{}) }
	write := func(doing, method, path string) (forge.Comment, error) {
		var c comment
		err := f.ask(ctx, doing, method, path, object{"body": text}, &c)
		return c.forge(c.User.Login), err
	}
	return f.writes.SetComment(number, marker, text, list,
		func(c forge.Comment) (forge.Comment, error) {
			return write("edit the comment on pull request "+strconv.Itoa(number), http.MethodPatch, "/issues/comments/"+c.ID)
		},
		func() (forge.Comment, error) {
			return write("comment on pull request "+strconv.Itoa(number), http.MethodPost, "/issues/"+strconv.Itoa(number)+"/comments")
		})
}

var reactions = map[forge.Reaction]string{forge.Seen: "eyes", forge.Good: "+1", forge.Bad: "-1"}

// React implements forge.Forge.
func (f *connection) React(ctx context.Context, _ int, comment string, r forge.Reaction) error {
	if _, err := strconv.ParseInt(comment, 10, 64); err != nil {
		return errors.New("the comment's id is not a number")
	}
	return f.ask(ctx, "react to a comment", http.MethodPost, "/issues/comments/"+comment+"/reactions", object{"content": reactions[r]}, nil)
}
