// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/registry/usage"
)

// usedBySecret is a module that one stack uses, whose name the caller may not see.
type usedBySecret struct{}

func (usedBySecret) Users(context.Context, string, string) (content.UserList, error) {
	users := []usage.User{{Stack: "secret", Namespace: "team-a"}}
	return content.UserList{Count: usage.CountOf(users), Items: users}, nil
}

func (usedBySecret) Outdated(context.Context, string) (content.OutdatedList, error) {
	return content.OutdatedList{}, nil
}

func TestCountsOfUsersNameNoStack(t *testing.T) {
	registry := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	mux := (&content.Handler{Usage: usedBySecret{}, Registry: registry}).ServeMux()
	for path, want := range map[string]int{
		"/modules/acme?users=vpc/aws":                http.StatusOK,
		"/modules/acme?users=vpc/aws@%3C2":           http.StatusOK,
		"/modules/acme?users=vpc":                    http.StatusBadRequest,
		"/modules/registry.example.com?users=a/b/c":  http.StatusBadRequest,
		"/modules/acme?users=vpc/aws@nonsense":       http.StatusBadRequest,
		"/modules/acme?module=vpc/aws":               http.StatusTeapot,
		"/modules/acme?module=vpc/aws&version=1.0.0": http.StatusTeapot,
	} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, content.PathPrefix+path, nil))
		body := w.Body.String()
		if w.Code != want || strings.Contains(body, "secret") {
			t.Errorf("GET %s: %d %s, want %d", path, w.Code, body, want)
		}
		if want == http.StatusOK && !strings.Contains(body, `"stacks":1`) {
			t.Errorf("GET %s: %s, want the count", path, body)
		}
	}
}
