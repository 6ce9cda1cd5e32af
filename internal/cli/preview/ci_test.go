// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

func TestVariablesOfJobs(t *testing.T) {
	actions := map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_SHA": "abc", "GITHUB_REF": "refs/pull/7/merge", "GITHUB_BASE_REF": "main",
		"GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "acme/infra", "GITHUB_API_URL": "https://api.github.com", "GITHUB_RUN_ID": "99", "GITHUB_RUN_NUMBER": "3",
		"GITHUB_STEP_SUMMARY": "/tmp/summary", "GITHUB_TOKEN": "t0ken"}
	with := func(base map[string]string, more ...string) func(string) string {
		return func(name string) string {
			for i := 0; i < len(more); i += 2 {
				if more[i] == name {
					return more[i+1]
				}
			}
			return base[name]
		}
	}
	gitlab := map[string]string{"GITLAB_CI": "true", "CI_COMMIT_SHA": "abc", "CI_API_V4_URL": "https://gitlab.com/api/v4", "CI_PROJECT_URL": "https://gitlab.com/a/b/infra",
		"CI_JOB_URL": "https://gitlab.com/j", "CI_JOB_TOKEN": "j0b", "CI_MERGE_REQUEST_IID": "12", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main", "CI_MERGE_REQUEST_DIFF_BASE_SHA": "base"}
	for sentence, c := range map[string]struct {
		get  func(string) string
		want environment
	}{
		"a pull request at GitHub": {with(actions), environment{Kind: forge.GitHub, Base: "main", Head: "abc", Target: "main", Number: 7, Repository: "https://github.com/acme/infra",
			API: "https://api.github.com", Job: "https://github.com/acme/infra/actions/runs/99", Summary: "/tmp/summary", Token: "t0ken", User: "github-actions[bot]"}},
		"a push at GitHub": {with(actions, "GITHUB_REF", "refs/heads/live", "GITHUB_BASE_REF", ""), environment{Kind: forge.GitHub, Head: "abc", Target: "live", Repository: "https://github.com/acme/infra",
			API: "https://api.github.com", Job: "https://github.com/acme/infra/actions/runs/99", Summary: "/tmp/summary", Token: "t0ken", User: "github-actions[bot]"}},
		"a tag": {with(map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_REF": "refs/tags/v1"}), environment{Kind: forge.GitHub, User: "github-actions[bot]"}},
		"Gitea, with a token of its own": {with(actions, "GITEA_ACTIONS", "true", "GITHUB_REF", "refs/pull/7/head", "GITHUB_SERVER_URL", "https://gitea.example.com/", tokenVariable, "0wn"),
			environment{Kind: forge.Gitea, Base: "main", Head: "abc", Target: "main", Number: 7, Repository: "https://gitea.example.com/acme/infra",
				Job: "https://gitea.example.com/acme/infra/actions/runs/3", Summary: "/tmp/summary", Token: "0wn"}},
		"a merge request at GitLab, whose job token may not comment": {with(gitlab), environment{Kind: forge.GitLab, Base: "base", Head: "abc", Target: "main", Number: 12, Repository: "https://gitlab.com/a/b/infra",
			API: "https://gitlab.com/api/v4", Job: "https://gitlab.com/j"}},
		"a branch at GitLab": {with(gitlab, "CI_MERGE_REQUEST_IID", "", "CI_COMMIT_BRANCH", "live", "GITLAB_TOKEN", "x"), environment{Kind: forge.GitLab, Head: "abc", Target: "live",
			Repository: "https://gitlab.com/a/b/infra", API: "https://gitlab.com/api/v4", Job: "https://gitlab.com/j", Token: "x"}},
		"no job": {with(nil), environment{}},
	} {
		if diff := cmp.Diff(c.want, environmentOf(c.get)); diff != "" {
			t.Errorf("%s: %s", sentence, diff)
		}
	}
}

func TestFlagsWinOverVariables(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("fr0m-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := ciOptions{forge: "gitea", repository: "https://g/a/b", number: 3, tokenFile: file, summary: "s"}
	o.base, o.target = "b", "t"
	get := func(name string) string {
		return map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_REF": "refs/pull/7/merge", "GITHUB_API_URL": "https://api.github.com", "GITHUB_TOKEN": "x"}[name]
	}
	e, err := o.environmentOf(get)
	want := environment{Kind: forge.Gitea, Base: "b", Target: "t", Number: 3, Repository: "https://g/a/b", Summary: "s", Token: "fr0m-file"}
	if diff := cmp.Diff(want, e); diff != "" || err != nil {
		t.Errorf("%v: %s", err, diff)
	}
	o.tokenFile = file + "-missing"
	if _, err := o.environmentOf(get); err == nil || !strings.Contains(err.Error(), "read the token that may comment") {
		t.Errorf("a missing file: %v", err)
	}
}

func TestExitCodes(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	broken := errors.New("broken")
	for sentence, c := range map[string]struct {
		ctx            context.Context
		w              worst
		err            error
		code, detailed int
	}{
		"nothing changes":                 {t.Context(), worst{}, nil, 0, 0},
		"changes":                         {t.Context(), worst{changed: 2}, nil, 0, 2},
		"a failure is worse than changes": {t.Context(), worst{failed: 1, refused: 1, changed: 1}, nil, ui.ExitRunFailed, 1},
		"a refusal":                       {t.Context(), worst{refused: 1, unknown: 1}, nil, ui.ExitRefused, 1},
		"an unknown one":                  {t.Context(), worst{unknown: 1}, nil, ui.ExitWaiting, 1},
		"an error":                        {t.Context(), worst{}, broken, 0, 1},
		"an interrupt":                    {canceled, worst{}, context.Canceled, ui.ExitInterrupted, ui.ExitInterrupted},
	} {
		for detailed, want := range map[bool]int{false: c.code, true: c.detailed} {
			var coded *ui.CodedError
			err, got := exit(c.ctx, c.w, c.err, detailed), 0
			if errors.As(err, &coded) {
				got = coded.Code
			}
			if got != want || (err == nil) != (want == 0 && c.err == nil) {
				t.Errorf("%s, detailed=%v: %v (%d)", sentence, detailed, err, got)
			}
		}
	}
}

func TestWhatGitPushes(t *testing.T) {
	const zero = "0000000000000000000000000000000000000000"
	for in, want := range map[string][]pushedRef{
		"": nil,
		"refs/heads/a 11 refs/heads/main " + zero + "\n":                              {{"main", "11"}},
		"(delete) " + zero + " refs/heads/gone 22\nrefs/tags/v1 33 refs/tags/v1 44\n": nil,
		"HEAD 11 refs/heads/x/y 22\nrefs/heads/b 33 refs/heads/b " + zero:             {{"x/y", "11"}, {"b", "33"}},
		"refs/heads/$(rm) 11 refs/heads/$(rm) " + zero + "\n":                         {{"$(rm)", "11"}},
	} {
		got, err := readPushed(strings.NewReader(in))
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(pushedRef{})); diff != "" || err != nil {
			t.Errorf("%q: %v: %s", in, err, diff)
		}
	}
	if _, err := readPushed(strings.NewReader("hello\n")); err == nil {
		t.Error("no line of git is read")
	}
}

func TestWorkflowsAreYAML(t *testing.T) {
	for _, name := range workflowNames {
		text, err := workflow(name)
		if err != nil {
			t.Fatal(err)
		}
		var parsed map[string]any
		if err := yaml.UnmarshalStrict(text, &parsed); err != nil || len(parsed) == 0 {
			t.Errorf("%s: %v", name, err)
		}
		if !strings.Contains(string(text), " ci --impact") {
			t.Errorf("%s does not call yuba ci", name)
		}
		if name == "github" {
			page, err := os.ReadFile("../../../docs/how-to/plans-in-ci.md")
			if err != nil || !strings.Contains(string(page), "```yaml\n"+string(text)+"```") {
				t.Errorf("docs/how-to/plans-in-ci.md does not have this job: %v\n%s", err, text)
			}
		}
	}
}
