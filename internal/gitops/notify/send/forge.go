// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package send

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	notificationv1beta3 "github.com/fluxcd/notification-controller/api/v1beta3"
	eventv1 "github.com/fluxcd/pkg/apis/event/v1beta1"
	"github.com/fluxcd/pkg/apis/meta"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/brief"
)

// state is what a commit status says.
type state int

const (
	pending state = iota
	success
	failure
)

// undecided are the reasons of events that come before the outcome of what they tell.
var undecided = map[string]bool{
	meta.ProgressingReason:           true,
	meta.DependencyNotReadyReason:    true,
	infrav1.ReasonPlannedWithChanges: true,
	infrav1.ReasonPlanSucceeded:      true,
}

func stateOf(e eventv1.Event) state {
	switch {
	case undecided[e.Reason]:
		return pending
	case failed(e):
		return failure
	}
	return success
}

// forge is where repositories live, with what differs between them. All are asked for the statuses of a commit first,
// for they refuse or pile up what says nothing new.
type forge struct {
	// api returns where the repository's API is, and the header that opens it.
	api    func(repo repository, token Secret) (base string, header http.Header)
	list   func(commit, name string) string
	create func(commit string) string
	states map[state]string
	// body is what is posted.
	body func(state, name, description string) any
	// description is how long one may be.
	description int
}

var forges = map[string]forge{
	notificationv1beta3.GitHubProvider: {
		// https://docs.github.com/en/rest/commits/statuses
		api: func(repo repository, token Secret) (string, http.Header) {
			base := repo.host + "/api/v3"
			if repo.host == "https://github.com" {
				base = "https://api.github.com"
			}
			return base + "/repos/" + repo.path, http.Header{"Authorization": {"Bearer " + string(token)},
				"Accept": {"application/vnd.github+json"}, "X-Github-Api-Version": {"2022-11-28"}}
		},
		list:   func(commit, _ string) string { return "/commits/" + commit + "/statuses?per_page=100" },
		create: func(commit string) string { return "/statuses/" + commit },
		states: map[state]string{pending: "pending", success: "success", failure: "failure"},
		body:   statusBody, description: 140,
	},
	notificationv1beta3.GiteaProvider: {
		// https://docs.gitea.com/api, repository/repoCreateStatus
		api: func(repo repository, token Secret) (string, http.Header) {
			return repo.host + "/api/v1/repos/" + repo.path, http.Header{"Authorization": {"token " + string(token)}}
		},
		list:   func(commit, _ string) string { return "/commits/" + commit + "/statuses?limit=50" },
		create: func(commit string) string { return "/statuses/" + commit },
		states: map[state]string{pending: "pending", success: "success", failure: "failure"},
		body:   statusBody, description: 255,
	},
	notificationv1beta3.GitLabProvider: {
		// https://docs.gitlab.com/api/commits/#commit-status
		api: func(repo repository, token Secret) (string, http.Header) {
			return repo.host + "/api/v4/projects/" + url.PathEscape(repo.path), http.Header{"Private-Token": {string(token)}}
		},
		list: func(commit, name string) string {
			return "/repository/commits/" + commit + "/statuses?name=" + url.QueryEscape(name)
		},
		create: func(commit string) string { return "/statuses/" + commit },
		states: map[state]string{pending: "pending", success: "success", failure: "failed"},
		body: func(state, name, description string) any {
			return map[string]string{"state": state, "name": name, "description": description}
		},
		description: 255,
	},
}

func statusBody(state, name, description string) any {
	return map[string]string{"state": state, "context": name, "description": description}
}

// maxStatusName bounds names of statuses, which expressions of users may make.
const maxStatusName = 255

func (f forge) send(ctx context.Context, t Target, m Message) error {
	repo, err := parseRepository(string(t.Address))
	if err != nil {
		return err
	}
	if t.Type != notificationv1beta3.GitLabProvider && strings.Count(repo.path, "/") != 1 {
		return permanent("spec.address names no repository: want https://HOST/OWNER/NAME")
	}
	if t.Token == "" {
		return permanent("the Secret has no token, without which %s takes no commit statuses", repo.host)
	}
	commit, ok := Commit(m.Event)
	if !ok {
		return permanent("the event tells of no commit")
	}
	name := brief.Fit(m.CommitStatus, maxStatusName)
	is, description := f.states[stateOf(m.Event)], brief.Fit(words(m.Event.Reason), f.description)
	base, header := f.api(repo, t.Token)
	answer, err := t.do(ctx, request{method: http.MethodGet, url: base + f.list(commit, name), header: header})
	if err != nil {
		return err
	}
	if says(answer, is, name, description) {
		return nil
	}
	_, err = t.do(ctx, request{method: http.MethodPost, url: base + f.create(commit), header: header, body: f.body(is, name, description)})
	return err
}

// says tells whether the latest status of the name says this already. Lists are in the order from new to old. The forges
// call what a status says either state or status, and its name either context or name.
func says(list []byte, state, name, description string) bool {
	var statuses []struct {
		State, Status, Context, Name, Description string
	}
	if err := json.Unmarshal(list, &statuses); err != nil {
		return false
	}
	for _, s := range statuses {
		if s.Context == name || s.Name == name {
			return (s.State == state || s.Status == state) && s.Description == description
		}
	}
	return false
}

// revision ends in a commit: main@sha1:731f7eaddfb6af01cb2173e18f0f75b0ba780ef1, and older main/731f….
var revision = regexp.MustCompile(`^(?:.*[@/])?(?:sha1:)?([0-9a-f]{40})$`)

// Commit is the commit that an event tells of. There is none when its revision is no commit, such as the digest of an
// artifact that does not say where it comes from.
func Commit(e eventv1.Event) (string, bool) {
	text, ok := e.GetRevision()
	if !ok {
		return "", false
	}
	match := revision.FindStringSubmatch(text)
	if match == nil {
		return "", false
	}
	return match[1], true
}

// repository is where a repository is: https://host and owner/name.
type repository struct{ host, path string }

var (
	scpLike = regexp.MustCompile(`^(?:[^@/:]+@)?([^/:]+):([^/].*)$`)
	slug    = regexp.MustCompile(`^[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)+$`)
)

// parseRepository takes what git takes for a remote.
func parseRepository(address string) (repository, error) {
	var repo repository
	u, err := url.Parse(address)
	switch {
	case err == nil && u.Host != "" && u.Scheme == "ssh":
		repo = repository{"https://" + u.Hostname(), u.Path}
	case err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https"):
		repo = repository{u.Scheme + "://" + u.Host, u.Path}
	default:
		match := scpLike.FindStringSubmatch(address)
		if match == nil {
			return repo, permanent("spec.address is no repository's: want https://HOST/OWNER/NAME")
		}
		repo = repository{"https://" + match[1], match[2]}
	}
	repo.path = strings.TrimSuffix(strings.Trim(repo.path, "/"), ".git")
	if !slug.MatchString(repo.path) || strings.Contains("/"+repo.path+"/", "/../") || strings.Contains("/"+repo.path+"/", "/./") {
		return repo, permanent("spec.address names no repository: want https://HOST/OWNER/NAME")
	}
	return repo, nil
}
