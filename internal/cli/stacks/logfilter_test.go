// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gateway/content"
)

func TestWhichLinesOfALogAreShown(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 1, 2, 15, minute, 0, 0, time.UTC) }
	message := func(minute int, level, text string) string {
		return fmt.Sprintf(`{"@level":%q,"@message":%q,"@timestamp":%q}`, level, text, at(minute).Format(time.RFC3339Nano))
	}
	log := []string{"raw at the start", message(1, "debug", "a"), message(2, "info", "b"), message(3, "warn", "c"), "raw after c", message(4, "error", "d")}
	for sentence, test := range map[string]struct {
		filter logFilter
		want   []int
	}{
		"everything":                    {logFilter{}, []int{0, 1, 2, 3, 4, 5}},
		"information and above":         {logFilter{level: "info"}, []int{0, 2, 3, 4, 5}},
		"warnings and above":            {logFilter{level: "warn"}, []int{3, 5}},
		"errors":                        {logFilter{level: "error"}, []int{5}},
		"what is new, and what follows": {logFilter{since: at(3)}, []int{3, 4, 5}},
		"what is new and bad":           {logFilter{since: at(2), level: "error"}, []int{5}},
		"nothing is so new":             {logFilter{since: at(5)}, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			var got []int
			for i, line := range log {
				if test.filter.shows([]byte(line + "\n")) {
					got = append(got, i)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheEndOfALogIsShownAndThenFollowed(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/runs"):
			io.WriteString(w, `{"items":[{"spec":{"id":"r1"}}]}`)
		case r.URL.Query().Get("run") != "r1":
			w.WriteHeader(http.StatusBadRequest)
		case r.URL.Query().Get("follow") == "":
			io.WriteString(w, "one\ntwo\nthree\nfo")
		default:
			io.WriteString(w, "one\ntwo\nthree\nfour\nfive\n")
		}
	}))
	defer server.Close()
	client, err := content.NewClient(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	s := &session.Session{App: &session.App{Console: &ui.Console{Out: io.Discard, Err: io.Discard}}, Content: client}
	for _, test := range []struct {
		tail   int
		follow bool
		want   string
	}{
		{2, false, "three\nfo\n"},
		{2, true, "two\nthree\nfour\nfive\n"},
		{0, true, "four\nfive\n"},
		{9, true, "one\ntwo\nthree\nfour\nfive\n"},
	} {
		var shown strings.Builder
		filter := &logFilter{tail: test.tail}
		show := func(line []byte) error { shown.WriteString(strings.TrimSuffix(string(line), "\n") + "\n"); return nil }
		r := &session.LogReader{Session: s, Stack: types.NamespacedName{Namespace: "team", Name: "vpc"}, Options: content.LogOptions{Follow: test.follow}, Line: show}
		if err := runTail(context.Background(), r, filter, show); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, shown.String()); diff != "" {
			t.Errorf("tail %d, follow %v:\n%s", test.tail, test.follow, diff)
		}
	}
}
