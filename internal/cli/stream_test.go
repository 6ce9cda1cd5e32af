// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

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

	"github.com/yuba-dev/yuba/internal/gateway/content"
)

// sessionWith is a session whose content a handler serves.
func sessionWith(t *testing.T, handler http.HandlerFunc) (*session, *bytes.Buffer) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	client, err := content.NewClient(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	news := &bytes.Buffer{}
	return &session{app: &app{out: io.Discard, err: news, color: "never"}, content: client, namespace: "team"}, news
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
	r := &logReader{session: s, stack: types.NamespacedName{Namespace: "team", Name: "vpc"}, options: content.LogOptions{Follow: true},
		line: func(line []byte) error { lines = append(lines, string(line)); return nil }}
	if err := r.run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"one\n", "two\n", "three\n"}, lines); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff("The server cannot be reached; what runs goes on. Trying again …\n", news.String()); diff != "" {
		t.Error(diff)
	}
}

func TestABrokenLogIsAnErrorUnlessItIsFollowed(t *testing.T) {
	s, _ := sessionWith(t, func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "one\n")
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	r := &logReader{session: s, stack: types.NamespacedName{Namespace: "team", Name: "vpc"}, line: func([]byte) error { return nil }}
	if err := r.run(context.Background()); err == nil {
		t.Error("a log that was cut off is taken for a whole one")
	}
}

func TestRunView(t *testing.T) {
	const (
		note       = `{"@level":"info","@message":"Initializing the backend..."}`
		install    = `{"@level":"info","@message":"- Installing hashicorp/time v0.13.1..."}`
		planned    = `{"@level":"info","@message":"x","type":"planned_change","change":{"resource":{"addr":"a.b"},"action":"create"}}`
		creating   = `{"@level":"info","@message":"a.b: Creating...","type":"apply_start","hook":{"resource":{"addr":"a.b"},"action":"create"}}`
		diagnostic = `{"@level":"error","@message":"Error: Bad","type":"diagnostic","diagnostic":{"severity":"error","summary":"Bad"}}`
		outputs    = `{"@level":"info","@message":"Outputs: 1","type":"outputs","outputs":{"a":{"value":1}}}`
		words      = "tofu crashed"
	)
	cases := map[string]struct {
		hidePlan bool
		lines    []string
		want     string
		errors   int
	}{
		"what init fetches is news, what it says is not": {false, []string{note, install}, "- Installing hashicorp/time v0.13.1...\n", 0},
		"a plan that will be shown is not told before":   {true, []string{planned}, "", 0},
		"a plan that is applied at once is":              {false, []string{planned, creating}, "  + a.b\na.b: Creating...\n", 0},
		"an error is told once":                          {false, []string{diagnostic, diagnostic}, "Error: Bad\n", 2},
		"outputs are the answer, not news":               {false, []string{outputs}, "", 0},
		"what is no message of tofu is shown":            {true, []string{words}, words + "\n", 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			v := &runView{w: &b, hidePlan: c.hidePlan}
			for _, line := range c.lines {
				if err := v.line([]byte(line + "\n")); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(c.want, b.String()); diff != "" || v.errors != c.errors {
				t.Errorf("%d errors\n%s", v.errors, diff)
			}
		})
	}
}
