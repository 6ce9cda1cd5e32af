// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bitbucket

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge/wire"
)

type cloudEnd struct {
	Branch struct {
		Name string `json:"name"`
	} `json:"branch"`
	Commit struct {
		Hash string `json:"hash"`
	} `json:"commit"`
	Repository *struct {
		FullName string `json:"full_name"`
	} `json:"repository"`
}

func (e cloudEnd) forge() forge.End {
	out := forge.End{Branch: e.Branch.Name, Commit: e.Commit.Hash}
	if e.Repository != nil {
		out.Repository = e.Repository.FullName
	}
	return out
}

type cloudPull struct {
	ID           int       `json:"id"`
	Title        string    `json:"title"`
	State        string    `json:"state"`
	Draft        bool      `json:"draft"`
	Author       cloudUser `json:"author"`
	Source       cloudEnd  `json:"source"`
	Destination  cloudEnd  `json:"destination"`
	Updated      time.Time `json:"updated_on"`
	Participants []struct {
		User  cloudUser  `json:"user"`
		State string     `json:"state"`
		At    *time.Time `json:"participated_on"`
	} `json:"participants"`
	Merge *struct {
		Hash string `json:"hash"`
	} `json:"merge_commit"`
	Links struct {
		HTML href `json:"html"`
	} `json:"links"`
}

func (f *cloud) pull(ctx context.Context, p cloudPull) (forge.PullRequest, error) {
	out := forge.PullRequest{Number: p.ID, Title: p.Title, URL: p.Links.HTML.Href, Author: p.Author.forge(), State: forge.Open, Draft: p.Draft,
		Head: p.Source.forge(), Base: p.Destination.forge(), Updated: p.Updated}
	out.Fork = out.Head.Repository != out.Base.Repository
	var err error
	switch p.State {
	case "MERGED":
		out.State = forge.Merged
		if p.Merge != nil {
			if out.MergeCommit, err = f.commitOf(ctx, p.Merge.Hash); err != nil {
				return out, err
			}
		}
	case "DECLINED", "SUPERSEDED":
		out.State = forge.Closed
	}
	if out.Head.Commit, err = f.commitOf(ctx, out.Head.Commit); err != nil {
		return out, err
	}
	out.Base.Commit, err = f.commitOf(ctx, out.Base.Commit)
	return out, err
}

// PullRequests implements forge.Forge.
func (f *cloud) PullRequests(ctx context.Context, since time.Time) ([]forge.PullRequest, error) {
	condition := `state="OPEN"`
	if !since.IsZero() {
		condition += " AND " + after("updated_on", since)
	}
	var found []cloudPull
	_, err := cloudList(ctx, f, "list pull requests", "/pullrequests", url.Values{"q": {condition}, "sort": {"-updated_on"}, "pagelen": {"50"}}, func(p cloudPull) bool {
		found = append(found, p)
		return true
	})
	if err != nil {
		return nil, err
	}
	var out []forge.PullRequest
	for _, p := range found {
		shown, err := f.pull(ctx, p)
		if err != nil {
			return nil, err
		}
		out = append(out, shown)
	}
	return out, nil
}

func (f *cloud) one(ctx context.Context, number int) (cloudPull, error) {
	var p cloudPull
	err := f.ask(ctx, "read pull request "+strconv.Itoa(number), http.MethodGet, cloudNumbered(number), nil, &p)
	return p, err
}

func cloudNumbered(number int) string { return "/pullrequests/" + strconv.Itoa(number) }

// PullRequest implements forge.Forge.
func (f *cloud) PullRequest(ctx context.Context, number int) (forge.PullRequest, error) {
	p, err := f.one(ctx, number)
	if err != nil {
		return forge.PullRequest{}, err
	}
	return f.pull(ctx, p)
}

// ChangedFiles implements forge.Forge.
func (f *cloud) ChangedFiles(ctx context.Context, number, most int) (forge.Changes, error) {
	type path struct {
		Path string `json:"path"`
	}
	type file struct {
		Status   string `json:"status"`
		Old, New *path
	}
	var out forge.Changes
	complete, err := cloudList(ctx, f, "list the changed files of pull request "+strconv.Itoa(number), cloudNumbered(number)+"/diffstat", url.Values{"pagelen": {"500"}}, func(c file) bool {
		if len(out.Files) >= most {
			return false
		}
		changed := forge.File{Action: forge.Modified}
		switch {
		case c.New != nil:
			changed.Path = c.New.Path
		case c.Old != nil:
			changed.Path = c.Old.Path
		}
		switch {
		case c.Status == "added" || c.Old == nil:
			changed.Action = forge.Added
		case c.Status == "removed" || c.New == nil:
			changed.Action = forge.Removed
		case c.Status == "renamed" && c.Old.Path != c.New.Path:
			changed.Action, changed.Before = forge.Renamed, c.Old.Path
		}
		out.Files = append(out.Files, changed)
		return true
	})
	out.Incomplete = !complete || len(out.Files) >= cloudLimits.Files
	return out, err
}

// Reviews implements forge.Forge.
func (f *cloud) Reviews(ctx context.Context, number int) ([]forge.Review, error) {
	p, err := f.one(ctx, number)
	if err != nil {
		return nil, err
	}
	var out []forge.Review
	for _, participant := range p.Participants {
		r := forge.Review{Who: participant.User.forge()}
		switch participant.State {
		case "approved":
			r.Verdict = forge.Approved
		case "changes_requested":
			r.Verdict = forge.Rejected
		default:
			continue
		}
		if participant.At != nil {
			r.At = *participant.At
		}
		out = append(out, r)
	}
	return out, nil
}

// cloudStates are Bitbucket's names of results, in both products.
var cloudStates = map[forge.Result]string{forge.Pending: "INPROGRESS", forge.Success: "SUCCESSFUL", forge.Failure: "FAILED"}

func resultOf(state string) forge.Result {
	for result, name := range cloudStates {
		if name == state {
			return result
		}
	}
	return forge.Failure
}

// key identifies a status by its name: keys have at most 40 characters.
func key(name string) string {
	sum := sha256.Sum256([]byte(name))
	return "yuba-" + hex.EncodeToString(sum[:8])
}

// buildStatus is a status in both products.
type buildStatus struct {
	Key         string `json:"key"`
	Name        string `json:"name"`
	State       string `json:"state"`
	Description string `json:"description"`
	URL         string `json:"url"`
}

func (s buildStatus) forge() forge.Status {
	return forge.Status{Name: s.Name, Result: resultOf(s.State), Description: s.Description, URL: s.URL}
}

func buildStatusOf(s forge.Status) buildStatus {
	return buildStatus{key(s.Name), s.Name, cloudStates[s.Result], s.Description, s.URL}
}

// SetStatus implements forge.Forge.
func (f *cloud) SetStatus(ctx context.Context, commit string, s forge.Status) error {
	s = wire.FitStatus(s, cloudLimits)
	return f.writes.SetStatus(ctx, f, commit, s, func() error {
		return f.ask(ctx, "set the status "+strconv.Quote(s.Name), http.MethodPost, "/commit/"+url.PathEscape(commit)+"/statuses/build", buildStatusOf(s), nil)
	})
}

// Statuses implements forge.Forge.
func (f *cloud) Statuses(ctx context.Context, commit string) ([]forge.Status, error) {
	var out []forge.Status
	_, err := cloudList(ctx, f, "list the statuses", "/commit/"+url.PathEscape(commit)+"/statuses", url.Values{"sort": {"-updated_on"}, "pagelen": {"100"}}, func(s buildStatus) bool {
		out = append(out, s.forge())
		return true
	})
	return wire.Newest(out), err
}

type cloudComment struct {
	ID      int64     `json:"id"`
	User    cloudUser `json:"user"`
	Deleted bool      `json:"deleted"`
	Created time.Time `json:"created_on"`
	Updated time.Time `json:"updated_on"`
	Content struct {
		Raw string `json:"raw"`
	} `json:"content"`
	Links struct {
		HTML href `json:"html"`
	} `json:"links"`
}

func (c cloudComment) forge(me string) forge.Comment {
	return forge.Comment{ID: strconv.FormatInt(c.ID, 10), Author: c.User.forge(), Text: c.Content.Raw, URL: c.Links.HTML.Href, Mine: c.User.UUID == me && me != "",
		Created: c.Created, Updated: c.Updated}
}

// Comments implements forge.Forge.
func (f *cloud) Comments(ctx context.Context, number int, since time.Time) ([]forge.Comment, error) {
	me, err := f.me(ctx)
	if err != nil {
		return nil, err
	}
	query := url.Values{"pagelen": {"100"}, "sort": {"created_on"}}
	if !since.IsZero() {
		query.Set("q", after("updated_on", since))
	}
	var out []forge.Comment
	_, err = cloudList(ctx, f, "list the comments of pull request "+strconv.Itoa(number), cloudNumbered(number)+"/comments", query, func(c cloudComment) bool {
		if !c.Deleted {
			out = append(out, c.forge(me))
		}
		return true
	})
	return wire.Since(out, func(c forge.Comment) bool { return !c.Updated.Before(since.Truncate(time.Second)) }), err
}

// SetComment implements forge.Forge.
func (f *cloud) SetComment(ctx context.Context, number int, marker, text string) (forge.Comment, error) {
	list := func() ([]forge.Comment, error) { return f.Comments(ctx, number, time.Time{}) }
	write := func(doing, method, path string) (forge.Comment, error) {
		var c cloudComment
		err := f.ask(ctx, doing, method, path, object{"content": object{"raw": text}}, &c)
		return c.forge(c.User.UUID), err
	}
	return f.writes.SetComment(number, marker, text, list,
		func(c forge.Comment) (forge.Comment, error) {
			return write("edit the comment on pull request "+strconv.Itoa(number), http.MethodPut, cloudNumbered(number)+"/comments/"+c.ID)
		},
		func() (forge.Comment, error) {
			return write("comment on pull request "+strconv.Itoa(number), http.MethodPost, cloudNumbered(number)+"/comments")
		})
}

// React implements forge.Forge.
func (f *cloud) React(context.Context, int, string, forge.Reaction) error {
	return &forge.UnsupportedError{Doing: "react to a comment of " + f.Where, Thing: "reactions in its API"}
}
