// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/link"
)

func TestAStateThatWasFetchedAheadIsUsedWhileItIsFresh(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(run.HeaderProtocol, "1")
		w.Write([]byte("now"))
	}))
	defer server.Close()
	dir := t.TempDir()
	connection, err := json.Marshal(run.Connection{URL: server.URL})
	if err := errors.Join(err, os.WriteFile(filepath.Join(dir, run.ConnectionFile), connection, 0o600)); err != nil {
		t.Fatal(err)
	}
	for want, at := range map[string]time.Time{"before": time.Now(), "now": time.Now().Add(-2 * freshState)} {
		r := newTask(&equipment{server: link.New(dir, "test")}, t.TempDir(), "one", "")
		k := newStateKeeper(r, newSite(r))
		k.ahead = make(chan fetchedState, 1)
		k.ahead <- fetchedState{status: 200, data: []byte("before"), at: at}
		if got := k.currentState(t.Context()); got.err != nil || string(got.data) != want {
			t.Errorf("fetched %s ago: %q, %v, want %q", time.Since(at), got.data, got.err, want)
		}
	}
}
