// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/gateway/content"
)

// triedInParts answers with one stack in each part.
type triedInParts struct{}

func (triedInParts) Try(_ context.Context, policy []byte, namespace, after string) (content.PolicyTrial, error) {
	switch {
	case string(policy) == "broken":
		return content.PolicyTrial{}, content.BadRequest(errors.New("read the policy: line 1"))
	case after == "":
		return content.PolicyTrial{Items: []content.TriedStack{{Namespace: namespace, Name: "a"}}, Continue: namespace + "/a"}, nil
	}
	return content.PolicyTrial{Items: []content.TriedStack{{Namespace: namespace, Name: "b", Message: "after " + after}}, Passed: 1}, nil
}

func (triedInParts) Facts(context.Context, *infrav1.Terraform, string) (any, error) { return nil, nil }

func (triedInParts) Verdict(context.Context, *infrav1.Terraform, string) (any, error) {
	return nil, nil
}

func TestTrialsOfPolicies(t *testing.T) {
	for sentence, c := range map[string]struct {
		policies     content.Policies
		path, policy string
		code         int
		has          string
	}{
		"the first part":       {triedInParts{}, "/namespaces/team-a/policytrials", "ok", http.StatusOK, `"continue":"team-a/a"`},
		"the second part":      {triedInParts{}, "/namespaces/team-a/policytrials?after=team-a/a", "ok", http.StatusOK, "after team-a/a"},
		"everywhere":           {triedInParts{}, "/policytrials", "ok", http.StatusOK, `"name":"a"`},
		"a broken policy":      {triedInParts{}, "/policytrials", "broken", http.StatusBadRequest, "read the policy: line 1"},
		"a policy without end": {triedInParts{}, "/policytrials", strings.Repeat("x", 1<<20+1), http.StatusRequestEntityTooLarge, "too large"},
		"an API without them":  {nil, "/policytrials", "ok", http.StatusNotFound, "does not judge plans by policies"},
	} {
		mux := (&content.Handler{Policies: c.policies, Log: slog.New(slog.DiscardHandler)}).ServeMux()
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodPost, content.PathPrefix+c.path, strings.NewReader(c.policy)))
		if body := w.Body.String(); w.Code != c.code || !strings.Contains(body, c.has) {
			t.Errorf("%s: %d %s, want %d and %q", sentence, w.Code, body, c.code, c.has)
		}
	}
}
