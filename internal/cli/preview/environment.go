// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

// environment is what the variables of a CI job say.
type environment struct {
	// Kind is the forge; empty if the job is of none that we know.
	Kind forge.Kind
	// Base is where the pull request left its target, a commit or a branch; empty for a push.
	Base string
	// Head is the commit of the job, Target the branch that it will be merged to, or was pushed to.
	Head, Target string
	// Number is the pull request's; 0 for none.
	Number int
	// Repository is the address of its page, API that of the forge's API.
	Repository, API string
	// Job is the address of the job's page.
	Job string
	// Summary is a file for a summary of the job.
	Summary string
	// Token may comment; User is its account if it may not ask for it.
	Token forge.Secret
	User  string
}

// tokenVariable is the variable with a token for any forge. It wins over those of the forges.
const tokenVariable = "YUBA_FORGE_TOKEN"

// environmentOf reads the variables of GitHub Actions, Gitea and Forgejo Actions, and GitLab CI.
func environmentOf(get func(string) string) environment {
	var e environment
	switch {
	case get("GITHUB_ACTIONS") == "true" || get("GITEA_ACTIONS") == "true" || get("FORGEJO_ACTIONS") == "true":
		e = ofActions(get)
	case get("GITLAB_CI") == "true":
		e = ofGitLab(get)
	}
	if token := get(tokenVariable); token != "" {
		e.Token, e.User = forge.Secret(token), ""
	}
	return e
}

// ofActions reads the variables of GitHub Actions, which Gitea and Forgejo have, too.
// https://docs.github.com/en/actions/reference/workflows-and-actions/variables
func ofActions(get func(string) string) environment {
	e := environment{Kind: forge.GitHub, Head: get("GITHUB_SHA"), API: get("GITHUB_API_URL"), Summary: get("GITHUB_STEP_SUMMARY"),
		Token: forge.Secret(get("GITHUB_TOKEN")), User: "github-actions[bot]"}
	server, name := strings.TrimSuffix(get("GITHUB_SERVER_URL"), "/"), get("GITHUB_REPOSITORY")
	if server != "" && name != "" {
		e.Repository = server + "/" + name
		if id := get("GITHUB_RUN_ID"); id != "" {
			e.Job = e.Repository + "/actions/runs/" + id
		}
	}
	if get("GITEA_ACTIONS") == "true" || get("FORGEJO_ACTIONS") == "true" {
		e.Kind, e.Token, e.User, e.API = forge.Gitea, forge.Secret(cmp.Or(get("GITEA_TOKEN"), get("GITHUB_TOKEN"))), "gitea-actions", ""
		if number := get("GITHUB_RUN_NUMBER"); e.Job != "" && number != "" {
			e.Job = e.Repository + "/actions/runs/" + number
		}
	}
	// refs/pull/7/merge, and refs/pull/7/head at Gitea.
	if rest, found := strings.CutPrefix(get("GITHUB_REF"), "refs/pull/"); found {
		number, _, _ := strings.Cut(rest, "/")
		e.Number, _ = strconv.Atoi(number) //nolint:errcheck // 0 is none
		e.Target, e.Base = get("GITHUB_BASE_REF"), get("GITHUB_BASE_REF")
	} else if branch, found := strings.CutPrefix(get("GITHUB_REF"), "refs/heads/"); found {
		e.Target = branch
	}
	return e
}

// ofGitLab reads the variables of GitLab CI. Its job token may not comment.
// https://docs.gitlab.com/ci/variables/predefined_variables/
func ofGitLab(get func(string) string) environment {
	e := environment{Kind: forge.GitLab, Head: get("CI_COMMIT_SHA"), API: get("CI_API_V4_URL"), Repository: get("CI_PROJECT_URL"), Job: get("CI_JOB_URL"),
		Token: forge.Secret(get("GITLAB_TOKEN")), Target: get("CI_COMMIT_BRANCH")}
	if number, err := strconv.Atoi(get("CI_MERGE_REQUEST_IID")); err == nil {
		e.Number, e.Target = number, get("CI_MERGE_REQUEST_TARGET_BRANCH_NAME")
		e.Base = cmp.Or(get("CI_MERGE_REQUEST_DIFF_BASE_SHA"), e.Target)
	}
	return e
}
