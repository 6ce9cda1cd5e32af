// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package send

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"

	notificationv1beta3 "github.com/fluxcd/notification-controller/api/v1beta3"
	eventv1 "github.com/fluxcd/pkg/apis/event/v1beta1"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/google/go-cmp/cmp"
)

// forgeServer keeps commit statuses like the forges: it refuses unknown paths, headers and states.
type forgeServer struct {
	list, create string
	header       [2]string
	states       string
	name         string
	stateField   string

	mu       sync.Mutex
	statuses []map[string]string
	created  int
}

var forgeServers = map[string]*forgeServer{
	notificationv1beta3.GitHubProvider: {list: "/api/v3/repos/org/app/commits/" + commit + "/statuses", create: "/api/v3/repos/org/app/statuses/" + commit,
		header: [2]string{"Authorization", "Bearer t0ken"}, states: "error failure pending success", name: "context", stateField: "state"},
	notificationv1beta3.GiteaProvider: {list: "/api/v1/repos/org/app/commits/" + commit + "/statuses", create: "/api/v1/repos/org/app/statuses/" + commit,
		header: [2]string{"Authorization", "token t0ken"}, states: "error failure pending success warning", name: "context", stateField: "status"},
	notificationv1beta3.GitLabProvider: {list: "/api/v4/projects/org%2Fapp/repository/commits/" + commit + "/statuses", create: "/api/v4/projects/org%2Fapp/statuses/" + commit,
		header: [2]string{"Private-Token", "t0ken"}, states: "pending running success failed canceled skipped", name: "name", stateField: "status"},
}

func (f *forgeServer) answer(w http.ResponseWriter, r asked) {
	f.mu.Lock()
	defer f.mu.Unlock()
	path, _, _ := strings.Cut(r.path, "?")
	switch {
	case r.header.Get(f.header[0]) != f.header[1]:
		w.WriteHeader(http.StatusUnauthorized)
	case r.method == http.MethodGet && path == f.list:
		json.NewEncoder(w).Encode(f.statuses)
	case r.method == http.MethodPost && path == f.create:
		var in map[string]string
		if json.Unmarshal([]byte(r.body), &in) != nil || !strings.Contains(" "+f.states+" ", " "+in["state"]+" ") || in[f.name] == "" || len(in["description"]) > 140 {
			w.WriteHeader(http.StatusUnprocessableEntity)
			return
		}
		// The newest comes first.
		f.statuses = append([]map[string]string{{f.stateField: in["state"], f.name: in[f.name], "description": in["description"]}}, f.statuses...)
		f.created++
		w.WriteHeader(http.StatusCreated)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func TestForgesGetCommitStatuses(t *testing.T) {
	for kind, forge := range forgeServers {
		t.Run(kind, func(t *testing.T) {
			s := newService(t, forge.answer)
			failed := map[string]string{notificationv1beta3.GitLabProvider: "failed"}[kind]
			if failed == "" {
				failed = "failure"
			}
			step := func(reason, severity, state, description string, created int) {
				t.Helper()
				m := message()
				m.Event.Reason, m.Event.Severity = reason, severity
				mustSend(t, target(kind, s.URL+"/org/app.git"), m)
				want := map[string]string{forge.stateField: state, forge.name: "kustomization/webapp/7d0cdc51", "description": description}
				if diff := cmp.Diff(want, forge.statuses[0]); diff != "" {
					t.Error(diff)
				}
				if forge.created != created {
					t.Errorf("there are %d statuses, want %d", forge.created, created)
				}
			}
			step(meta.ProgressingReason, eventv1.EventSeverityInfo, "pending", "progressing", 1)
			step("HealthCheckFailed", eventv1.EventSeverityError, failed, "health check failed", 2)
			step("ReconciliationSucceeded", eventv1.EventSeverityInfo, "success", "reconciliation succeeded", 3)
			// An unchanged status is not posted again.
			step("ReconciliationSucceeded", eventv1.EventSeverityInfo, "success", "reconciliation succeeded", 3)
			step(infrav1.ReasonPlanSucceeded, eventv1.EventSeverityInfo, "pending", "terraform plan succeed", 4)

			wrong := target(kind, s.URL+"/org/app")
			wrong.Token = "wrong"
			if err := Send(t.Context(), wrong, message()); err == nil || !strings.Contains(err.Error(), "401") {
				t.Errorf("with a wrong token: %v", err)
			}
			for sentence, change := range map[string]func(*Target, *Message){
				"no commit": func(_ *Target, m *Message) {
					m.Event.Metadata = map[string]string{"revision": "1.2.3@sha256:" + strings.Repeat("a", 64)}
				},
				"no token": func(to *Target, _ *Message) { to.Token = "" },
				"no name":  func(to *Target, _ *Message) { to.Address = Secret(s.URL) },
			} {
				before, to, m := len(s.all()), target(kind, s.URL+"/org/app"), message()
				change(&to, &m)
				if err := Send(t.Context(), to, m); err == nil || len(s.all()) != before {
					t.Errorf("%s: %v", sentence, err)
				}
			}
		})
	}
}

func TestCommit(t *testing.T) {
	other := strings.Repeat("b", 40)
	for text, want := range map[string]string{
		"main@sha1:" + commit: commit, "main/" + commit: commit, "sha1:" + commit: commit, "feature/x@sha1:" + commit: commit, "v1.2@sha1:" + commit: commit,
		"": "", "1.0@sha256:" + strings.Repeat("a", 64): "", "main@sha1:abc": "", "main@sha1:" + commit + "/../x": "",
	} {
		got, ok := Commit(eventv1.Event{Metadata: map[string]string{"revision": text}})
		if got != want || ok != (want != "") {
			t.Errorf("%q: %q, %v", text, got, ok)
		}
	}
	e := eventv1.Event{Metadata: map[string]string{"revision": "1.0@sha256:" + strings.Repeat("a", 64), "originRevision": "main@sha1:" + other}}
	if got, _ := Commit(e); got != other {
		t.Errorf("the commit that an artifact was made of is %q", got)
	}
}

func TestRepositories(t *testing.T) {
	for address, want := range map[string]repository{
		"https://github.com/org/app":              {"https://github.com", "org/app"},
		"https://me:pass@github.com/org/app.git/": {"https://github.com", "org/app"},
		"http://gitea.local:3000/org/app":         {"http://gitea.local:3000", "org/app"},
		"ssh://git@github.com:22/org/app.git":     {"https://github.com", "org/app"},
		"git@gitlab.com:group/sub/app.git":        {"https://gitlab.com", "group/sub/app"},
	} {
		got, err := parseRepository(address)
		if err != nil || got != want {
			t.Errorf("%s: %v, %v", address, got, err)
		}
	}
	for _, address := range []string{"", "https://github.com", "https://github.com/org", "https://github.com/org/../x", "https://github.com/o r/x",
		"https://github.com/org/app?token=s3cret", "file:///etc/passwd", "org/app", "https://github.com/org/app/%2e%2e/x"} {
		if repo, err := parseRepository(address); err == nil && (strings.Contains(repo.path, "s3cret") || strings.Contains(repo.path, "..")) || err == nil && repo.path != "org/app" {
			t.Errorf("%s: %v", address, repo)
		}
	}
	base, _ := forges[notificationv1beta3.GitHubProvider].api(repository{"https://github.com", "org/app"}, "")
	if base != "https://api.github.com/repos/org/app" {
		t.Errorf("GitHub's own API is at %s", base)
	}
}

func TestWords(t *testing.T) {
	for reason, want := range map[string]string{"ReconciliationSucceeded": "reconciliation succeeded", "TFExecPlanFailed": "tf exec plan failed",
		"NoDrift": "no drift", "x": "x", "": "", "OCIPullFailed2": "oci pull failed 2"} {
		if got := words(reason); got != want {
			t.Errorf("%s: %q", reason, got)
		}
	}
}

func FuzzRepository(f *testing.F) {
	for _, seed := range []string{"https://github.com/org/app", "git@github.com:org/app.git", "ssh://git@h:22/a/b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, address string) {
		repo, err := parseRepository(address)
		if err == nil && (strings.ContainsAny(repo.path, "?#% \n") || strings.Contains("/"+repo.path+"/", "/../")) {
			t.Errorf("%q gives %q", address, repo.path)
		}
	})
}
