// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/link"
	"github.com/yuba-dev/yuba/internal/runs/runner/registryproxy"
)

// A download may outlive its run, because other runs wait for it, too. The run's token does not. So
// the download continues with the token of another run that may read the same.

// lines are the runs that can ask the server's registry.
type lines struct {
	mu   sync.Mutex
	runs []*Run
}

// RegistryRights identify what the registry lets the run read: its namespace and service account.
func (t *Run) RegistryRights() string {
	return t.Spec.Stack.Namespace + "/" + t.Spec.ServiceAccount
}

// JoinRegistry lets downloads ask the registry as this run until it leaves.
func (t *Run) JoinRegistry() {
	t.lines.mu.Lock()
	defer t.lines.mu.Unlock()
	if t.Spec.Registry != nil && !slices.Contains(t.lines.runs, t) {
		t.lines.runs = append(t.lines.runs, t)
	}
}

// LeaveRegistry ends this.
func (t *Run) LeaveRegistry() {
	t.lines.mu.Lock()
	defer t.lines.mu.Unlock()
	t.lines.runs = slices.DeleteFunc(t.lines.runs, func(other *Run) bool { return other == t })
}

// line is what is needed to ask as a run.
type line struct{ id, token string }

// linesFor returns the run, and then the others that may read the same. Everybody may read what the
// mirror has of other registries.
func (t *Run) linesFor(path string) []line {
	t.lines.mu.Lock()
	defer t.lines.mu.Unlock()
	all := []line{{t.ID, t.Token}}
	for _, other := range t.lines.runs {
		if other != t && (registryproxy.IsUpstream(path) || other.RegistryRights() == t.RegistryRights()) {
			all = append(all, line{other.ID, other.Token})
		}
	}
	return all
}

// OpenRegistry returns how downloads of the run ask the registry, with these revoked versions. Which of
// them the stack has is different for each run, so then no other run can ask.
func (t *Run) OpenRegistry(revoked run.Revoked) registryproxy.Open {
	return func(ctx context.Context, method, path string, header http.Header) (*http.Response, error) {
		sent := map[string]string{}
		for name := range header {
			sent[name] = header.Get(name)
		}
		lines := t.linesFor(path)
		if revoked != run.NoRevoked {
			sent[run.HeaderRevoked] = string(revoked)
		}
		if revoked == run.UsedRevoked {
			lines = lines[:1]
		}
		var answer *http.Response
		for _, from := range lines {
			if answer != nil {
				answer.Body.Close() //nolint:errcheck,gosec // it was not read
			}
			var err error
			answer, err = t.Server.Open(ctx, link.Request{Method: method, Path: "/runs/" + from.id + "/registry" + path, Token: from.token, Header: sent})
			if err != nil {
				return nil, fmt.Errorf("ask the registry: %w", err)
			}
			if answer.Header.Get(run.HeaderRegistry) != "" || answer.StatusCode != http.StatusGone && answer.StatusCode != http.StatusUnauthorized {
				return answer, nil
			}
		}
		return answer, nil
	}
}
