// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package gitlab

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge/wire"
)

// merge is a merge request.
type merge struct {
	IID          int       `json:"iid"`
	Title        string    `json:"title"`
	WebURL       string    `json:"web_url"`
	State        string    `json:"state"`
	Draft        bool      `json:"draft"`
	Conflicts    bool      `json:"has_conflicts"`
	Author       user      `json:"author"`
	SourceBranch string    `json:"source_branch"`
	TargetBranch string    `json:"target_branch"`
	Source       int64     `json:"source_project_id"`
	Target       int64     `json:"target_project_id"`
	SHA          string    `json:"sha"`
	MergeCommit  string    `json:"merge_commit_sha"`
	SquashCommit string    `json:"squash_commit_sha"`
	Labels       []string  `json:"labels"`
	Updated      time.Time `json:"updated_at"`
	ChangesCount string    `json:"changes_count"`
	DiffRefs     struct {
		Base string `json:"start_sha"`
	} `json:"diff_refs"`
}

func (f *connection) merge(ctx context.Context, m merge) (forge.PullRequest, error) {
	out := forge.PullRequest{Number: m.IID, Title: m.Title, URL: m.WebURL, Author: m.Author.forge(), State: forge.Open, Draft: m.Draft,
		Fork: m.Source != m.Target, Conflict: m.Conflicts, Labels: m.Labels, Updated: m.Updated, Ref: "refs/merge-requests/" + strconv.Itoa(m.IID) + "/head",
		Head: forge.End{Branch: m.SourceBranch, Commit: m.SHA}, Base: forge.End{Branch: m.TargetBranch, Commit: m.DiffRefs.Base}}
	switch m.State {
	case "merged":
		// With neither, the base was moved to the head.
		out.State, out.Conflict, out.MergeCommit = forge.Merged, false, cmp.Or(m.MergeCommit, m.SquashCommit, m.SHA)
	case "closed":
		out.State, out.Conflict = forge.Closed, false
	}
	out.Base.Repository = nameOf(m.WebURL)
	if !out.Fork {
		out.Head.Repository = out.Base.Repository
		return out, nil
	}
	var (
		source project
		gone   *forge.NotFoundError
		scope  *forge.ScopeError
	)
	_, err := f.Do(ctx, wire.Call{Doing: "read the source of merge request " + strconv.Itoa(m.IID), Path: "/projects/" + strconv.FormatInt(m.Source, 10), Out: &source})
	if err != nil && !errors.As(err, &gone) && !errors.As(err, &scope) {
		return out, err
	}
	out.Head.Repository = source.Path
	return out, nil
}

// nameOf is the project's name in the address of a merge request: https://HOST/GROUP/NAME/-/merge_requests/1.
func nameOf(address string) string {
	name, _, _ := strings.Cut(address, "/-/")
	if _, rest, ok := strings.Cut(name, "://"); ok {
		_, name, _ = strings.Cut(rest, "/")
	}
	return name
}

// PullRequests implements forge.Forge.
func (f *connection) PullRequests(ctx context.Context, since time.Time) ([]forge.PullRequest, error) {
	query := []string{"state", "opened", "order_by", "updated_at", "sort", "desc"}
	if !since.IsZero() {
		query = append(query, "updated_after", since.UTC().Add(-time.Millisecond).Format("2006-01-02T15:04:05.000Z"))
	}
	var found []merge
	if _, err := wire.List(ctx, f.Client, f.list("list merge requests", "/merge_requests", query...), func(m merge) bool {
		found = append(found, m)
		return true
	}); err != nil {
		return nil, err
	}
	var out []forge.PullRequest
	for _, m := range found {
		p, err := f.merge(ctx, m)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// PullRequest implements forge.Forge.
func (f *connection) PullRequest(ctx context.Context, number int) (forge.PullRequest, error) {
	m, err := f.one(ctx, number)
	if err != nil {
		return forge.PullRequest{}, err
	}
	return f.merge(ctx, m)
}

func (f *connection) one(ctx context.Context, number int) (merge, error) {
	var m merge
	err := f.ask(ctx, "read merge request "+strconv.Itoa(number), http.MethodGet, numbered(number), nil, &m)
	return m, err
}

func numbered(number int) string { return "/merge_requests/" + strconv.Itoa(number) }

// ChangedFiles implements forge.Forge.
func (f *connection) ChangedFiles(ctx context.Context, number, most int) (forge.Changes, error) {
	type file struct {
		OldPath string `json:"old_path"`
		NewPath string `json:"new_path"`
		New     bool   `json:"new_file"`
		Renamed bool   `json:"renamed_file"`
		Deleted bool   `json:"deleted_file"`
	}
	m, err := f.one(ctx, number)
	if err != nil {
		return forge.Changes{}, err
	}
	var out forge.Changes
	complete, err := wire.List(ctx, f.Client, f.list("list the changed files of merge request "+strconv.Itoa(number), numbered(number)+"/diffs"), func(c file) bool {
		if len(out.Files) >= most {
			return false
		}
		changed := forge.File{Path: c.NewPath, Action: forge.Modified}
		switch {
		case c.New:
			changed.Action = forge.Added
		case c.Deleted:
			changed = forge.File{Path: c.OldPath, Action: forge.Removed}
		case c.Renamed:
			changed.Action, changed.Before = forge.Renamed, c.OldPath
		}
		out.Files = append(out.Files, changed)
		return true
	})
	// GitLab counts as "1000+" what it does not list.
	count, notNumber := strconv.Atoi(m.ChangesCount)
	out.Incomplete = !complete || strings.HasSuffix(m.ChangesCount, "+") || notNumber == nil && count > len(out.Files)
	return out, err
}

// Reviews implements forge.Forge.
func (f *connection) Reviews(ctx context.Context, number int) ([]forge.Review, error) {
	var approvals struct {
		By []struct {
			User user      `json:"user"`
			At   time.Time `json:"approved_at"`
		} `json:"approved_by"`
	}
	if err := f.ask(ctx, "list the approvals of merge request "+strconv.Itoa(number), http.MethodGet, numbered(number)+"/approvals", nil, &approvals); err != nil {
		return nil, err
	}
	if len(approvals.By) == 0 {
		return nil, nil
	}
	type version struct {
		Head    string    `json:"head_commit_sha"`
		Created time.Time `json:"created_at"`
	}
	var versions []version
	if _, err := wire.List(ctx, f.Client, f.list("list the versions of merge request "+strconv.Itoa(number), numbered(number)+"/versions"), func(v version) bool {
		versions = append(versions, v)
		return true
	}); err != nil {
		return nil, err
	}
	slices.SortStableFunc(versions, func(a, b version) int { return a.Created.Compare(b.Created) })
	var out []forge.Review
	for _, a := range approvals.By {
		r := forge.Review{Who: a.User.forge(), Verdict: forge.Approved, At: a.At}
		for _, v := range versions {
			if !a.At.IsZero() && !v.Created.After(a.At) {
				r.Commit = v.Head
			}
		}
		out = append(out, r)
	}
	return out, nil
}
