// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package github

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge/wire"
)

// end is an end of a pull request.
type end struct {
	Ref  string `json:"ref"`
	SHA  string `json:"sha"`
	Repo *struct {
		ID       int64  `json:"id"`
		FullName string `json:"full_name"`
	} `json:"repo"`
}

func (e end) forge() forge.End {
	out := forge.End{Branch: e.Ref, Commit: e.SHA}
	if e.Repo != nil {
		out.Repository = e.Repo.FullName
	}
	return out
}

type pull struct {
	Number         int       `json:"number"`
	Title          string    `json:"title"`
	HTMLURL        string    `json:"html_url"`
	State          string    `json:"state"`
	Draft          bool      `json:"draft"`
	Merged         bool      `json:"merged"`
	MergedAt       *string   `json:"merged_at"`
	MergeableState string    `json:"mergeable_state"`
	MergeCommit    string    `json:"merge_commit_sha"`
	UpdatedAt      time.Time `json:"updated_at"`
	User           user      `json:"user"`
	Labels         []struct {
		Name string `json:"name"`
	} `json:"labels"`
	Head end `json:"head"`
	Base end `json:"base"`
}

func (f *connection) pull(p pull) forge.PullRequest {
	out := forge.PullRequest{Number: p.Number, Title: p.Title, URL: p.HTMLURL, Author: p.User.forge(), State: forge.Open, Draft: p.Draft,
		Head: p.Head.forge(), Base: p.Base.forge(), Ref: "refs/pull/" + strconv.Itoa(p.Number) + "/head", Updated: p.UpdatedAt}
	// The repository of a deleted fork is null. It counts as a fork: its head is not in the base's repository.
	out.Fork = p.Head.Repo == nil || p.Base.Repo == nil || p.Head.Repo.ID != p.Base.Repo.ID
	for _, l := range p.Labels {
		out.Labels = append(out.Labels, l.Name)
	}
	switch {
	case p.Merged || p.MergedAt != nil:
		// While it is open, GitHub's field has a commit of a trial.
		out.State, out.MergeCommit = forge.Merged, p.MergeCommit
	case p.State == "closed":
		out.State = forge.Closed
	default:
		// Gitea's field "mergeable" is false, too, while it has not checked yet.
		out.Conflict = p.MergeableState == "dirty"
	}
	return out
}

// PullRequests implements forge.Forge.
func (f *connection) PullRequests(ctx context.Context, since time.Time) ([]forge.PullRequest, error) {
	query := url.Values{"state": {"open"}}
	for name, values := range f.recent {
		query[name] = values
	}
	var out []forge.PullRequest
	_, err := wire.List(ctx, f.Client, f.list("list pull requests", "/pulls", query), func(p pull) bool {
		if p.UpdatedAt.Before(since.Truncate(time.Second)) {
			return false // the others are older
		}
		out = append(out, f.pull(p))
		return true
	})
	return out, err
}

// PullRequest implements forge.Forge.
func (f *connection) PullRequest(ctx context.Context, number int) (forge.PullRequest, error) {
	var p pull
	if err := f.ask(ctx, "read pull request "+strconv.Itoa(number), http.MethodGet, numbered(number), nil, &p); err != nil {
		return forge.PullRequest{}, err
	}
	return f.pull(p), nil
}

func numbered(number int) string { return "/pulls/" + strconv.Itoa(number) }

var actions = map[string]forge.Action{
	"added": forge.Added, "copied": forge.Added,
	"removed": forge.Removed, "deleted": forge.Removed,
	"renamed": forge.Renamed,
}

// ChangedFiles implements forge.Forge.
func (f *connection) ChangedFiles(ctx context.Context, number, most int) (forge.Changes, error) {
	type file struct {
		Filename string `json:"filename"`
		Previous string `json:"previous_filename"`
		Status   string `json:"status"`
	}
	var out forge.Changes
	complete, err := wire.List(ctx, f.Client, f.list("list the changed files of pull request "+strconv.Itoa(number), numbered(number)+"/files", nil), func(c file) bool {
		if len(out.Files) >= most {
			return false
		}
		action, ok := actions[c.Status]
		if !ok {
			action = forge.Modified
		}
		changed := forge.File{Path: c.Filename, Action: action}
		if action == forge.Renamed {
			changed.Before = c.Previous
		}
		out.Files = append(out.Files, changed)
		return true
	})
	out.Incomplete = !complete || len(out.Files) >= f.limits.Files
	return out, err
}

// Reviews implements forge.Forge.
func (f *connection) Reviews(ctx context.Context, number int) ([]forge.Review, error) {
	type review struct {
		User      user      `json:"user"`
		State     string    `json:"state"`
		Commit    string    `json:"commit_id"`
		Submitted time.Time `json:"submitted_at"`
		Dismissed bool      `json:"dismissed"`
	}
	var all []forge.Review
	_, err := wire.List(ctx, f.Client, f.list("list the reviews of pull request "+strconv.Itoa(number), numbered(number)+"/reviews", nil), func(r review) bool {
		out := forge.Review{Who: r.User.forge(), Commit: r.Commit, At: r.Submitted}
		switch {
		case out.Who.Name == "":
			return true // the account was deleted
		case r.Dismissed || r.State == "DISMISSED":
		case r.State == "APPROVED":
			out.Verdict = forge.Approved
		case r.State == "CHANGES_REQUESTED" || r.State == "REQUEST_CHANGES":
			out.Verdict = forge.Rejected
		default:
			return true // comments and requests for reviews change nothing
		}
		all = append(all, out)
		return true
	})
	slices.SortStableFunc(all, func(a, b forge.Review) int { return a.At.Compare(b.At) })
	return wire.Opinions(all), err
}
