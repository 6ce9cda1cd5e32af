// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package azure

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge/wire"
)

type commit struct {
	ID string `json:"commitId"`
}

type pull struct {
	ID         int        `json:"pullRequestId"`
	Title      string     `json:"title"`
	Status     string     `json:"status"`
	Draft      bool       `json:"isDraft"`
	Author     identity   `json:"createdBy"`
	Source     string     `json:"sourceRefName"`
	Target     string     `json:"targetRefName"`
	Head       commit     `json:"lastMergeSourceCommit"`
	Base       commit     `json:"lastMergeTargetCommit"`
	Merge      commit     `json:"lastMergeCommit"`
	MergeState string     `json:"mergeStatus"`
	Repository repository `json:"repository"`
	Fork       *struct {
		Repository repository `json:"repository"`
	} `json:"forkSource"`
	Labels []struct {
		Name string `json:"name"`
	} `json:"labels"`
	Reviewers []struct {
		identity
		Vote int `json:"vote"`
	} `json:"reviewers"`
}

func (f *connection) pull(p pull) forge.PullRequest {
	name := p.Repository.name()
	out := forge.PullRequest{Number: p.ID, Title: p.Title, URL: f.Base() + f.page + "/pullrequest/" + strconv.Itoa(p.ID), Author: p.Author.forge(), State: forge.Open, Draft: p.Draft,
		Head: forge.End{Repository: name, Branch: strings.TrimPrefix(p.Source, "refs/heads/"), Commit: p.Head.ID},
		Base: forge.End{Repository: name, Branch: strings.TrimPrefix(p.Target, "refs/heads/"), Commit: p.Base.ID},
		Fork: p.Fork != nil, Conflict: p.MergeState == "conflicts"}
	if p.Fork != nil {
		out.Head.Repository = p.Fork.Repository.name()
	}
	for _, l := range p.Labels {
		out.Labels = append(out.Labels, l.Name)
	}
	switch p.Status {
	case "completed":
		out.State, out.MergeCommit = forge.Merged, p.Merge.ID
	case "abandoned":
		out.State = forge.Closed
	}
	return out
}

// size is the number of pull requests in a page.
const size = 100

// PullRequests implements forge.Forge.
func (f *connection) PullRequests(ctx context.Context, _ time.Time) ([]forge.PullRequest, error) {
	var out []forge.PullRequest
	call := f.call("list pull requests", http.MethodGet, "/pullrequests", nil, nil, "searchCriteria.status", "active", "$top", strconv.Itoa(size), "$skip", "0")
	err := wire.Pages(ctx, f.Client, call, func(page values[pull], call wire.Call) (wire.Call, bool) {
		for _, p := range page.Value {
			out = append(out, f.pull(p))
		}
		call.Query.Set("$skip", strconv.Itoa(len(out)))
		return call, len(page.Value) > 0
	})
	return out, err
}

func numbered(number int) string { return "/pullRequests/" + strconv.Itoa(number) }

func (f *connection) one(ctx context.Context, number int) (pull, error) {
	var p pull
	err := f.ask(ctx, "read pull request "+strconv.Itoa(number), http.MethodGet, numbered(number), nil, &p)
	return p, err
}

// PullRequest implements forge.Forge.
func (f *connection) PullRequest(ctx context.Context, number int) (forge.PullRequest, error) {
	p, err := f.one(ctx, number)
	if err != nil {
		return forge.PullRequest{}, err
	}
	// A single one has no labels.
	if len(p.Labels) == 0 {
		var labels values[struct {
			Name string `json:"name"`
		}]
		if err := f.ask(ctx, "list the labels of pull request "+strconv.Itoa(number), http.MethodGet, numbered(number)+"/labels", nil, &labels); err != nil {
			return forge.PullRequest{}, err
		}
		p.Labels = labels.Value
	}
	return f.pull(p), nil
}

type changed struct {
	Type string `json:"changeType"`
	Item struct {
		Path   string `json:"path"`
		Folder bool   `json:"isFolder"`
	} `json:"item"`
	Original string `json:"originalPath"`
}

// file is the change of a file. Types are lists such as "edit, rename".
func (c changed) file() forge.File {
	out := forge.File{Path: strings.TrimPrefix(c.Item.Path, "/"), Action: forge.Modified}
	switch {
	case strings.Contains(c.Type, "delete"):
		out.Action = forge.Removed
	case strings.Contains(c.Type, "rename"):
		out.Action, out.Before = forge.Renamed, strings.TrimPrefix(c.Original, "/")
	case strings.Contains(c.Type, "add"):
		out.Action = forge.Added
	}
	return out
}

// ChangedFiles implements forge.Forge.
func (f *connection) ChangedFiles(ctx context.Context, number, most int) (forge.Changes, error) {
	var iterations values[struct {
		ID int `json:"id"`
	}]
	doing := "list the changed files of pull request " + strconv.Itoa(number)
	if err := f.ask(ctx, doing, http.MethodGet, numbered(number)+"/iterations", nil, &iterations); err != nil {
		return forge.Changes{}, err
	}
	last := 0
	for _, i := range iterations.Value {
		last = max(last, i.ID)
	}
	type page struct {
		Entries []changed `json:"changeEntries"`
		Skip    int       `json:"nextSkip"`
	}
	var out forge.Changes
	call := f.call(doing, http.MethodGet, numbered(number)+"/iterations/"+strconv.Itoa(last)+"/changes", nil, nil, "$top", "2000", "$skip", "0", "$compareTo", "0")
	err := wire.Pages(ctx, f.Client, call, func(p page, call wire.Call) (wire.Call, bool) {
		for _, c := range p.Entries {
			switch {
			case c.Item.Folder:
			case len(out.Files) >= most:
				out.Incomplete = true
				return call, false
			default:
				out.Files = append(out.Files, c.file())
			}
		}
		call.Query.Set("$skip", strconv.Itoa(p.Skip))
		return call, p.Skip > 0
	})
	return out, err
}

// Reviews implements forge.Forge.
func (f *connection) Reviews(ctx context.Context, number int) ([]forge.Review, error) {
	p, err := f.one(ctx, number)
	if err != nil {
		return nil, err
	}
	var out []forge.Review
	for _, r := range p.Reviewers {
		switch {
		case r.Vote > 0: // approved, or approved with suggestions
			out = append(out, forge.Review{Who: r.forge(), Verdict: forge.Approved})
		case r.Vote < 0: // rejected, or waiting for the author
			out = append(out, forge.Review{Who: r.forge(), Verdict: forge.Rejected})
		}
	}
	return out, nil
}
