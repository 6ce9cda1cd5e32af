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
	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// state is the state of a commit status.
type state int

const (
	pending state = iota
	success
	failure
)

// undecided are the reasons of events that precede an outcome.
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

// forge has the differences of one forge. Forges refuse or accumulate equal statuses: list first.
type forge struct {
	// api returns the URL of the repository's API, and the headers with the token.
	api  func(repo repository, token Secret) (base string, header http.Header)
	list func(commit, name string) string
	// failure is the name of the state of failures, context the field with the status's name.
	failure, context string
	// description is the maximum length of a description.
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
		list:    func(commit, _ string) string { return "/commits/" + commit + "/statuses?per_page=100" },
		failure: "failure", context: "context", description: 140,
	},
	notificationv1beta3.GiteaProvider: {
		// https://docs.gitea.com/api, repository/repoCreateStatus
		api: func(repo repository, token Secret) (string, http.Header) {
			return repo.host + "/api/v1/repos/" + repo.path, http.Header{"Authorization": {"token " + string(token)}}
		},
		list:    func(commit, _ string) string { return "/commits/" + commit + "/statuses?limit=50" },
		failure: "failure", context: "context", description: 255,
	},
	notificationv1beta3.GitLabProvider: {
		// https://docs.gitlab.com/api/commits/#commit-status
		api: func(repo repository, token Secret) (string, http.Header) {
			return repo.host + "/api/v4/projects/" + url.PathEscape(repo.path), http.Header{"Private-Token": {string(token)}}
		},
		list: func(commit, name string) string {
			return "/repository/commits/" + commit + "/statuses?name=" + url.QueryEscape(name)
		},
		failure: "failed", context: "name", description: 255,
	},
}

func (f forge) state(s state) string {
	switch s {
	case pending:
		return "pending"
	case success:
		return "success"
	}
	return f.failure
}

// maxStatusName limits names of statuses, which users' expressions may return.
const maxStatusName = 255

func (f forge) send(ctx context.Context, t Target, m Message) error {
	repo, err := parseRepository(string(t.Address))
	if err != nil {
		return err
	}
	if t.Type != notificationv1beta3.GitLabProvider && strings.Count(repo.path, "/") != 1 {
		return permanent("spec.address must be the URL of a repository, https://HOST/OWNER/NAME")
	}
	if t.Token == "" {
		return permanent("the Secret does not have a token, which %s requires for commit statuses", repo.host)
	}
	commit, ok := Commit(m.Event)
	if !ok {
		return permanent("the event does not have a commit")
	}
	name := shorten.Fit(m.CommitStatus, maxStatusName)
	is, description := f.state(stateOf(m.Event)), shorten.Fit(words(m.Event.Reason), f.description)
	base, header := f.api(repo, t.Token)
	answer, err := t.do(ctx, request{method: http.MethodGet, url: base + f.list(commit, name), header: header})
	if err != nil {
		return err
	}
	if says(answer, is, name, description) {
		return nil
	}
	body := object{"state": is, f.context: name, "description": description}
	if m.Page != "" {
		body["target_url"] = m.Page // all forges name it so
	}
	_, err = t.do(ctx, request{method: http.MethodPost, url: base + "/statuses/" + commit, header: header, body: body})
	return err
}

// says reports whether the latest status of the name, the first one in the list, has this state and
// description. Forges name the fields state or status, and context or name.
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

// revision matches a revision with a commit: main@sha1:731f7eaddfb6af01cb2173e18f0f75b0ba780ef1, or
// the older main/731f….
var revision = regexp.MustCompile(`^(?:.*[@/])?(?:sha1:)?([0-9a-f]{40})$`)

// Commit returns the commit of an event. Other revisions, such as digests, do not have one.
func Commit(e eventv1.Event) (string, bool) {
	text, _ := e.GetRevision()
	if match := revision.FindStringSubmatch(text); match != nil {
		return match[1], true
	}
	return "", false
}

// repository is a repository's https://host and owner/name.
type repository struct{ host, path string }

var (
	scpLike = regexp.MustCompile(`^(?:[^@/:]+@)?([^/:]+):([^/].*)$`)
	slug    = regexp.MustCompile(`^[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)+$`)
)

// parseRepository parses git's addresses of remotes.
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
			return repo, permanent("spec.address must be the URL of a repository, https://HOST/OWNER/NAME")
		}
		repo = repository{"https://" + match[1], match[2]}
	}
	repo.path = strings.TrimSuffix(strings.Trim(repo.path, "/"), ".git")
	if !slug.MatchString(repo.path) || strings.Contains("/"+repo.path+"/", "/../") || strings.Contains("/"+repo.path+"/", "/./") {
		return repo, permanent("spec.address must be the URL of a repository, https://HOST/OWNER/NAME")
	}
	return repo, nil
}
