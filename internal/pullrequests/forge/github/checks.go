// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package github

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge/wire"
)

// maxAnnotations is how many annotations GitHub accepts in one request.
const maxAnnotations = 50

type check struct {
	ID         int64  `json:"id"`
	Name       string `json:"name"`
	Status     string `json:"status"`
	Conclusion string `json:"conclusion"`
	DetailsURL string `json:"details_url"`
	Output     struct {
		Title string `json:"title"`
	} `json:"output"`
}

func (c check) forge() forge.Status {
	s := forge.Status{Name: c.Name, Description: c.Output.Title, URL: c.DetailsURL, Result: forge.Pending}
	if c.Status == "completed" {
		s.Result = forge.Failure
		if c.Conclusion == "success" || c.Conclusion == "neutral" || c.Conclusion == "skipped" {
			s.Result = forge.Success
		}
	}
	return s
}

// listChecks lists the App's newest check runs of a commit.
func (f *connection) listChecks(ctx context.Context, commit string) ([]check, error) {
	var out []check
	type page struct {
		Runs []check `json:"check_runs"`
	}
	call := f.list("list the checks", "/commits/"+url.PathEscape(commit)+"/check-runs", url.Values{"filter": {"latest"}, "app_id": {f.app.id}})
	number := 1
	err := wire.Pages(ctx, f.Client, call, func(p page, call wire.Call) (wire.Call, bool) {
		out = append(out, p.Runs...)
		number++
		call.Query.Set("page", strconv.Itoa(number))
		return call, len(p.Runs) == 100
	})
	return out, err
}

// checks lists the App's check runs as statuses.
func (f *connection) checks(ctx context.Context, commit string) ([]forge.Status, error) {
	runs, err := f.listChecks(ctx, commit)
	var out []forge.Status
	for _, c := range runs {
		out = append(out, c.forge())
	}
	return wire.Newest(out), err
}

// setCheck creates or updates a check run. Annotations are added in several requests.
func (f *connection) setCheck(ctx context.Context, commit string, s forge.Status) error {
	runs, err := f.listChecks(ctx, commit)
	if err != nil {
		return err
	}
	method, path := http.MethodPost, "/check-runs"
	for _, old := range runs {
		if old.Name != s.Name {
			continue
		}
		was := old.forge()
		if was.Result == s.Result && was.Description == s.Description && was.URL == s.URL && len(s.Annotations) == 0 {
			return nil
		}
		// A run that ended stays as it is: GitHub would add annotations to the old ones.
		if old.Status != "completed" {
			method, path = http.MethodPatch, "/check-runs/"+strconv.FormatInt(old.ID, 10)
		}
		break
	}
	for left := s.Annotations; ; {
		part := left[:min(len(left), maxAnnotations)]
		left = left[len(part):]
		var c check
		if err := f.ask(ctx, "set the check "+strconv.Quote(s.Name), method, path, f.checkOf(commit, s, part), &c); err != nil || len(left) == 0 {
			return err
		}
		method, path = http.MethodPatch, "/check-runs/"+strconv.FormatInt(c.ID, 10)
	}
}

func (f *connection) checkOf(commit string, s forge.Status, annotations []forge.Annotation) object {
	list := []object{}
	for _, a := range annotations {
		list = append(list, object{"path": a.Path, "start_line": max(a.Line, 1), "end_line": max(a.Line, 1), "annotation_level": "failure",
			"title": a.Title, "message": a.Message})
	}
	out := object{"name": s.Name, "head_sha": commit, "output": object{"title": s.Description, "summary": s.Description, "annotations": list}}
	if s.URL != "" {
		out["details_url"] = s.URL
	}
	if s.Result == forge.Pending {
		out["status"] = "in_progress"
	} else {
		out["status"], out["conclusion"] = "completed", string(s.Result)
	}
	return out
}
