// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/testkit/gittest"
)

func TestUnavailableUpstream(t *testing.T) {
	server := gittest.New(t)
	r := server.Repository(t, "central")
	r.Commit(t, "first", gittest.Files{"main.tf": "one"})
	var news []string
	m := open(t, Options{News: func(upstream string) { news = append(news, upstream) }})
	up, old := Upstream{URL: r.URL()}, Want{Ref: Ref{Branch: "main"}, MaxAge: time.Hour}
	look(t, m, up, old)
	var asked atomic.Int64
	server.SetFault(func(w http.ResponseWriter, _ *http.Request) bool {
		asked.Add(1)
		w.WriteHeader(http.StatusBadGateway)
		return true
	})
	fails := func(want Want) {
		t.Helper()
		if found, err := m.Look(t.Context(), up, want); err == nil {
			t.Fatalf("it found %s", found.Revision)
		}
	}
	// A fresh look queries the upstream. Its failure replaces the earlier result, and others share it.
	fails(Want{Ref: old.Ref})
	for range 100 {
		fails(old)
	}
	if n := asked.Load(); n > 5 {
		t.Errorf("%d attempts", n)
	}
	fails(Want{Ref: old.Ref})
	server.SetFault(nil)
	look(t, m, up, Want{Ref: old.Ref})
	if diff := cmp.Diff([]string{m.Key(up)}, news); diff != "" {
		t.Error("no news that it responds again", diff)
	}
}
