// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

func TestASourceWithoutAnArtifactSaysWhy(t *testing.T) {
	name := types.NamespacedName{Namespace: "team", Name: "infra"}
	says := func(status metav1.ConditionStatus, message string) *sourcev1.GitRepository {
		o := &sourcev1.GitRepository{}
		o.Status.Conditions = []metav1.Condition{{Type: meta.ReadyCondition, Status: status, Reason: "GitOperationFailed", Message: message}}
		return o
	}
	for sentence, test := range map[string]struct {
		source *sourcev1.GitRepository
		want   string
	}{
		"one that says nothing":     {&sourcev1.GitRepository{}, infrav1.MessageSourceNotReady},
		"one that is worked on":     {says(metav1.ConditionUnknown, "building artifact"), infrav1.MessageSourceNotReady},
		"one that fails":            {says(metav1.ConditionFalse, "no such branch"), infrav1.MessageSourceNotReady + ": GitRepository team/infra says GitOperationFailed: no such branch"},
		"one that has much to tell": {says(metav1.ConditionFalse, strings.Repeat("ä", 2000)), infrav1.MessageSourceNotReady + ": GitRepository team/infra says GitOperationFailed: " + strings.Repeat("ä", 1000) + "…"},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := notReady("GitRepository", name, test.source); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestALostArchiveOfThisServerIsNotAskedOfItself(t *testing.T) {
	sources, _, _ := newSources(t)
	asked := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { asked = true; w.WriteHeader(http.StatusUnauthorized) }))
	defer server.Close()
	sources.HTTP = server.Client()
	sources.Ours = func(url string) bool { return strings.Contains(url, "/ours/") }
	artifact := func(path string) *meta.Artifact {
		return &meta.Artifact{Digest: "sha256:" + strings.Repeat("0", 64), Revision: "main@sha1:a", URL: server.URL + path}
	}
	name := types.NamespacedName{Namespace: "team", Name: "infra"}
	for _, test := range []struct{ kind, path, want string }{
		{"GitRepository", "/ours/x", "the archive of GitRepository team/infra, revision main@sha1:a, is not in the store. Fetch the source again:\n    yuba reconcile source git infra -n team"},
		{"ExternalArtifact", "/ours/x", "the archive of ExternalArtifact team/infra, revision main@sha1:a, is not in the store. Push it again:\n    yuba push infra DIR -n team"},
		{"GitRepository", "/theirs/x", "the server answered 401"},
	} {
		asked = false
		_, err := sources.stored(t.Context(), test.kind, name, artifact(test.path))
		var told *SourceError
		if !errors.As(err, &told) || !strings.Contains(told.Message, test.want) {
			t.Errorf("%s %s: %v", test.kind, test.path, err)
		}
		if asked != (test.path == "/theirs/x") {
			t.Errorf("%s %s: requested over HTTP: %v", test.kind, test.path, asked)
		}
	}
}
