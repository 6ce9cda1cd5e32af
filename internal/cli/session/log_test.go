// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gateway/content"
)

// sessionWith is a session whose content a handler serves.
func sessionWith(t *testing.T, handler http.HandlerFunc) (*Session, *bytes.Buffer) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	client, err := content.NewClient(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	news := &bytes.Buffer{}
	return &Session{App: &App{Console: &ui.Console{Out: io.Discard, Err: news, Color: "never"}}, Content: client, Namespace: "team"}, news
}

func TestALogIsReadOnWhereItBroke(t *testing.T) {
	const log = "one\ntwo\nthree\n"
	asked := 0
	s, news := sessionWith(t, func(w http.ResponseWriter, _ *http.Request) {
		asked++
		if asked == 1 {
			io.WriteString(w, log[:6]) // in the middle of a line
			http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		if asked == 2 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		io.WriteString(w, log)
	})
	var lines []string
	r := &LogReader{Session: s, Stack: types.NamespacedName{Namespace: "team", Name: "vpc"}, Options: content.LogOptions{Follow: true},
		Line: func(line []byte) error { lines = append(lines, string(line)); return nil }}
	if err := r.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"one\n", "two\n", "three\n"}, lines); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff("The server is unreachable; runs continue. Retrying …\n", news.String()); diff != "" {
		t.Error(diff)
	}
}

func TestABrokenLogIsAnErrorUnlessItIsFollowed(t *testing.T) {
	s, _ := sessionWith(t, func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "one\n")
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	r := &LogReader{Session: s, Stack: types.NamespacedName{Namespace: "team", Name: "vpc"}, Line: func([]byte) error { return nil }}
	if err := r.Run(context.Background()); err == nil {
		t.Error("a log that was cut off is taken for a whole one")
	}
}
