// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package statekeeper

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/execution"
	"github.com/yuba-dev/yuba/internal/runs/runner/link"
)

func TestAStateThatWasFetchedAheadIsUsedWhileItIsFresh(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if _, err := w.Write([]byte("now")); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	dir := t.TempDir()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	connection, err := json.Marshal(run.Connection{URL: server.URL, CA: string(authority)})
	if err := errors.Join(err, os.WriteFile(filepath.Join(dir, run.ConnectionFile), connection, 0o600)); err != nil {
		t.Fatal(err)
	}
	for want, at := range map[string]time.Time{"before": time.Now(), "now": time.Now().Add(-2 * freshState)} {
		r := execution.New(&execution.Equipment{Server: link.New(dir, "test")}, t.TempDir(), "one", "")
		k := New(r, execution.NewSite(r))
		k.ahead = make(chan fetchedState, 1)
		k.ahead <- fetchedState{Status: 200, Data: []byte("before"), at: at}
		if got := k.CurrentState(t.Context()); got.Err != nil || string(got.Data) != want {
			t.Errorf("fetched %s ago: %q, %v, want %q", time.Since(at), got.Data, got.Err, want)
		}
	}
}
