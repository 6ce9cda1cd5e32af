// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package azure

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

var states = map[forge.Result]string{forge.Pending: "pending", forge.Success: "succeeded", forge.Failure: "failed"}

// results are the meanings of all states.
var results = map[string]forge.Result{"pending": forge.Pending, "notSet": forge.Pending, "succeeded": forge.Success, "notApplicable": forge.Success}

// A status has a name and a genre, which branch policies show as genre/name.
type statusContext struct {
	Name  string `json:"name"`
	Genre string `json:"genre"`
}

func (c statusContext) String() string {
	if c.Genre == "" {
		return c.Name
	}
	return c.Genre + "/" + c.Name
}

func contextOf(name string) statusContext {
	if genre, rest, ok := strings.Cut(name, "/"); ok {
		return statusContext{rest, genre}
	}
	return statusContext{Name: name}
}

// SetStatus implements forge.Forge.
func (f *connection) SetStatus(ctx context.Context, commit string, s forge.Status) error {
	s = wire.FitStatus(s, limits)
	return f.writes.SetStatus(ctx, f, commit, s, func() error {
		return f.ask(ctx, "set the status "+strconv.Quote(s.Name), http.MethodPost, "/commits/"+url.PathEscape(commit)+"/statuses",
			object{"state": states[s.Result], "description": s.Description, "targetUrl": s.URL, "context": contextOf(s.Name)}, nil)
	})
}

// Statuses implements forge.Forge.
func (f *connection) Statuses(ctx context.Context, commit string) ([]forge.Status, error) {
	var list values[struct {
		State       string        `json:"state"`
		Description string        `json:"description"`
		TargetURL   string        `json:"targetUrl"`
		Context     statusContext `json:"context"`
	}]
	if err := f.ask(ctx, "list the statuses", http.MethodGet, "/commits/"+url.PathEscape(commit)+"/statuses", nil, &list, "latestOnly", "true", "top", "1000"); err != nil {
		return nil, err
	}
	var out []forge.Status
	for _, s := range list.Value {
		result, ok := results[s.State]
		if !ok {
			result = forge.Failure
		}
		out = append(out, forge.Status{Name: s.Context.String(), Result: result, Description: s.Description, URL: s.TargetURL})
	}
	return wire.Newest(out), nil
}

type thread struct {
	ID       int       `json:"id"`
	Deleted  bool      `json:"isDeleted"`
	Comments []comment `json:"comments"`
}

type comment struct {
	ID      int       `json:"id"`
	Content string    `json:"content"`
	Author  identity  `json:"author"`
	Type    string    `json:"commentType"`
	Deleted bool      `json:"isDeleted"`
	Created time.Time `json:"publishedDate"`
	Updated time.Time `json:"lastContentUpdatedDate"`
}

func (f *connection) comment(number, thread int, c comment, me string) forge.Comment {
	if c.Updated.Before(c.Created) {
		c.Updated = c.Created
	}
	return forge.Comment{ID: strconv.Itoa(thread) + "/" + strconv.Itoa(c.ID), Author: c.Author.forge(), Text: c.Content, Mine: c.Author.ID == me && me != "",
		URL:     f.Base() + f.page + "/pullrequest/" + strconv.Itoa(number) + "?discussionId=" + strconv.Itoa(thread),
		Created: c.Created, Updated: c.Updated}
}

// Comments implements forge.Forge.
func (f *connection) Comments(ctx context.Context, number int, since time.Time) ([]forge.Comment, error) {
	me, err := f.me(ctx)
	if err != nil {
		return nil, err
	}
	var list values[thread]
	if err := f.ask(ctx, "list the comments of pull request "+strconv.Itoa(number), http.MethodGet, numbered(number)+"/threads", nil, &list); err != nil {
		return nil, err
	}
	var out []forge.Comment
	for _, t := range list.Value {
		for _, c := range t.Comments {
			if !t.Deleted && !c.Deleted && c.Type != "system" {
				out = append(out, f.comment(number, t.ID, c, me))
			}
		}
	}
	return wire.Since(out, func(c forge.Comment) bool { return !c.Updated.Before(since) }), nil
}

// SetComment implements forge.Forge. Its thread is closed, so that no policy waits for somebody to resolve it.
func (f *connection) SetComment(ctx context.Context, number int, marker, text string) (forge.Comment, error) {
	list := func() ([]forge.Comment, error) { return f.Comments(ctx, number, time.Time{}) }
	return f.writes.SetComment(number, marker, text, list,
		func(old forge.Comment) (forge.Comment, error) {
			thread, id, _ := strings.Cut(old.ID, "/")
			var c comment
			err := f.ask(ctx, "edit the comment on pull request "+strconv.Itoa(number), http.MethodPatch, numbered(number)+"/threads/"+thread+"/comments/"+id, object{"content": text}, &c)
			of, _ := strconv.Atoi(thread) //nolint:errcheck // the id is one of ours
			return f.comment(number, of, c, c.Author.ID), err
		},
		func() (forge.Comment, error) {
			var t thread
			err := f.ask(ctx, "comment on pull request "+strconv.Itoa(number), http.MethodPost, numbered(number)+"/threads",
				object{"comments": []object{{"parentCommentId": 0, "content": text, "commentType": "text"}}, "status": "closed"}, &t)
			if err != nil {
				return forge.Comment{}, err
			}
			if len(t.Comments) == 0 {
				return forge.Comment{}, &forge.DownError{Doing: "comment on pull request " + strconv.Itoa(number) + " of " + f.Where, Reason: "the response has no comment"}
			}
			return f.comment(number, t.ID, t.Comments[0], t.Comments[0].Author.ID), nil
		})
}

// React implements forge.Forge: Azure DevOps has likes only.
func (f *connection) React(ctx context.Context, number int, comment string, r forge.Reaction) error {
	thread, id, ok := strings.Cut(comment, "/")
	_, notThread := strconv.Atoi(thread)
	_, notComment := strconv.Atoi(id)
	if !ok || notThread != nil || notComment != nil {
		return errors.New("the comment's id does not have the form THREAD/COMMENT")
	}
	if r == forge.Bad {
		return nil // a like would say the opposite
	}
	return f.ask(ctx, "react to a comment", http.MethodPost, numbered(number)+"/threads/"+thread+"/comments/"+id+"/likes", nil, nil)
}
