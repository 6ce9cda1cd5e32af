// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bitbucket

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge/wire"
)

type serverEnd struct {
	ID         string           `json:"id"`
	Commit     string           `json:"latestCommit"`
	Repository serverRepository `json:"repository"`
}

func (e serverEnd) forge() forge.End {
	return forge.End{Repository: e.Repository.name(), Branch: strings.TrimPrefix(e.ID, "refs/heads/"), Commit: e.Commit}
}

type serverPull struct {
	ID      int       `json:"id"`
	Title   string    `json:"title"`
	State   string    `json:"state"`
	Draft   bool      `json:"draft"`
	Updated millis    `json:"updatedDate"`
	From    serverEnd `json:"fromRef"`
	To      serverEnd `json:"toRef"`
	Author  struct {
		User serverUser `json:"user"`
	} `json:"author"`
	Reviewers []struct {
		User     serverUser `json:"user"`
		Status   string     `json:"status"`
		Reviewed string     `json:"lastReviewedCommit"`
	} `json:"reviewers"`
	Properties struct {
		Merge struct {
			ID string `json:"id"`
		} `json:"mergeCommit"`
	} `json:"properties"`
	Links struct {
		Self []href `json:"self"`
	} `json:"links"`
}

func (p serverPull) forge() forge.PullRequest {
	out := forge.PullRequest{Number: p.ID, Title: p.Title, Author: p.Author.User.forge(), State: forge.Open, Draft: p.Draft, Head: p.From.forge(), Base: p.To.forge(),
		Fork: p.From.Repository.ID != p.To.Repository.ID, Ref: "refs/pull-requests/" + strconv.Itoa(p.ID) + "/from", Updated: p.Updated.time()}
	if len(p.Links.Self) > 0 {
		out.URL = p.Links.Self[0].Href
	}
	switch p.State {
	case "MERGED":
		out.State, out.MergeCommit = forge.Merged, p.Properties.Merge.ID
	case "DECLINED":
		out.State = forge.Closed
	}
	return out
}

func serverNumbered(number int) string { return "/pull-requests/" + strconv.Itoa(number) }

// PullRequests implements forge.Forge.
func (f *server) PullRequests(ctx context.Context, since time.Time) ([]forge.PullRequest, error) {
	var out []forge.PullRequest
	call := wire.Call{Doing: "list pull requests", Path: f.repo + "/pull-requests", Query: url.Values{"state": {"OPEN"}, "order": {"NEWEST"}}}
	_, err := serverList(ctx, f, call, func(p serverPull) bool {
		// They are in the order of their creation.
		if !p.Updated.time().Before(since.Truncate(time.Millisecond)) {
			out = append(out, p.forge())
		}
		return true
	})
	return out, err
}

func (f *server) one(ctx context.Context, number int) (serverPull, error) {
	var p serverPull
	_, err := f.ask(ctx, "read pull request "+strconv.Itoa(number), http.MethodGet, serverNumbered(number), nil, &p)
	return p, err
}

// PullRequest implements forge.Forge.
func (f *server) PullRequest(ctx context.Context, number int) (forge.PullRequest, error) {
	p, err := f.one(ctx, number)
	if err != nil {
		return forge.PullRequest{}, err
	}
	return p.forge(), nil
}

// ChangedFiles implements forge.Forge.
func (f *server) ChangedFiles(ctx context.Context, number, most int) (forge.Changes, error) {
	type path struct {
		Text string `json:"toString"`
	}
	type file struct {
		Path   path  `json:"path"`
		Source *path `json:"srcPath"`
		Type   string
	}
	var out forge.Changes
	call := wire.Call{Doing: "list the changed files of pull request " + strconv.Itoa(number), Path: f.repo + serverNumbered(number) + "/changes"}
	complete, err := serverList(ctx, f, call, func(c file) bool {
		if len(out.Files) >= most {
			return false
		}
		changed := forge.File{Path: c.Path.Text, Action: forge.Modified}
		switch c.Type {
		case "ADD", "COPY":
			changed.Action = forge.Added
		case "DELETE":
			changed.Action = forge.Removed
		case "MOVE":
			changed.Action = forge.Renamed
			if c.Source != nil {
				changed.Before = c.Source.Text
			}
		}
		out.Files = append(out.Files, changed)
		return true
	})
	out.Incomplete = !complete || len(out.Files) >= serverLimits.Files
	return out, err
}

// Reviews implements forge.Forge.
func (f *server) Reviews(ctx context.Context, number int) ([]forge.Review, error) {
	p, err := f.one(ctx, number)
	if err != nil {
		return nil, err
	}
	var out []forge.Review
	for _, reviewer := range p.Reviewers {
		r := forge.Review{Who: reviewer.User.forge(), Commit: reviewer.Reviewed}
		switch reviewer.Status {
		case "APPROVED":
			r.Verdict = forge.Approved
		case "NEEDS_WORK":
			r.Verdict = forge.Rejected
		default:
			continue
		}
		out = append(out, r)
	}
	return out, nil
}

// SetStatus implements forge.Forge.
func (f *server) SetStatus(ctx context.Context, commit string, s forge.Status) error {
	s = wire.FitStatus(s, serverLimits)
	return f.writes.SetStatus(ctx, f, commit, s, func() error {
		_, err := f.Do(ctx, wire.Call{Doing: "set the status " + strconv.Quote(s.Name), Method: http.MethodPost, Path: "/rest/build-status/1.0/commits/" + url.PathEscape(commit), In: buildStatusOf(s)})
		return err
	})
}

// Statuses implements forge.Forge.
func (f *server) Statuses(ctx context.Context, commit string) ([]forge.Status, error) {
	var out []forge.Status
	call := wire.Call{Doing: "list the statuses", Path: "/rest/build-status/1.0/commits/" + url.PathEscape(commit), Query: url.Values{"orderBy": {"newest"}}}
	_, err := serverList(ctx, f, call, func(s buildStatus) bool {
		out = append(out, s.forge())
		return true
	})
	return wire.Newest(out), err
}

type serverComment struct {
	ID      int64      `json:"id"`
	Version int        `json:"version"`
	Text    string     `json:"text"`
	Author  serverUser `json:"author"`
	Created millis     `json:"createdDate"`
	Updated millis     `json:"updatedDate"`
}

func (f *server) comment(c serverComment, number int, me string) forge.Comment {
	return forge.Comment{ID: strconv.FormatInt(c.ID, 10), Author: c.Author.forge(), Text: c.Text, Mine: c.Author.Name == me && me != "",
		URL:     f.Base() + "/projects/" + f.project + "/repos/" + f.slug + serverNumbered(number) + "/overview?commentId=" + strconv.FormatInt(c.ID, 10),
		Created: c.Created.time(), Updated: c.Updated.time()}
}

// list lists comments with their versions, which an edit must name. A header of every response has our account's name.
func (f *server) list(ctx context.Context, number int) ([]forge.Comment, map[string]int, error) {
	type activity struct {
		Action  string        `json:"action"`
		Comment serverComment `json:"comment"`
		// Type is ADDED, EDITED or DELETED.
		Type string `json:"commentAction"`
	}
	header, err := f.ask(ctx, "read the account of the token", http.MethodGet, "", nil, nil)
	if err != nil {
		return nil, nil, err
	}
	me, versions := header.Get("X-Ausername"), map[string]int{}
	var out []forge.Comment
	call := wire.Call{Doing: "list the comments of pull request " + strconv.Itoa(number), Path: f.repo + serverNumbered(number) + "/activities"}
	_, err = serverList(ctx, f, call, func(a activity) bool {
		if c := f.comment(a.Comment, number, me); a.Action == "COMMENTED" && a.Type != "DELETED" {
			if _, again := versions[c.ID]; !again {
				out = append(out, c)
			}
			versions[c.ID] = a.Comment.Version
		}
		return true
	})
	return wire.Since(out, func(forge.Comment) bool { return true }), versions, err
}

// Comments implements forge.Forge.
func (f *server) Comments(ctx context.Context, number int, since time.Time) ([]forge.Comment, error) {
	out, _, err := f.list(ctx, number)
	return wire.Since(out, func(c forge.Comment) bool { return !c.Updated.Before(since.Truncate(time.Millisecond)) }), err
}

// SetComment implements forge.Forge.
func (f *server) SetComment(ctx context.Context, number int, marker, text string) (forge.Comment, error) {
	var versions map[string]int
	list := func() (all []forge.Comment, err error) {
		all, versions, err = f.list(ctx, number)
		return all, err
	}
	write := func(doing, method, path string, in object) (forge.Comment, error) {
		var c serverComment
		_, err := f.ask(ctx, doing, method, serverNumbered(number)+path, in, &c)
		return f.comment(c, number, c.Author.Name), err
	}
	var none wire.Writes // an edit must name the comment's version, so that it is listed each time
	return none.SetComment(number, marker, text, list,
		func(c forge.Comment) (forge.Comment, error) {
			return write("edit the comment on pull request "+strconv.Itoa(number), http.MethodPut, "/comments/"+c.ID, object{"text": text, "version": versions[c.ID]})
		},
		func() (forge.Comment, error) {
			return write("comment on pull request "+strconv.Itoa(number), http.MethodPost, "/comments", object{"text": text})
		})
}

// React implements forge.Forge.
func (f *server) React(context.Context, int, string, forge.Reaction) error {
	return &forge.UnsupportedError{Doing: "react to a comment of " + f.Where, Thing: "reactions in its API"}
}
