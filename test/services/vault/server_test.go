// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package vault_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/yuba-dev/yuba/internal/testkit/vaulttest"
)

// TestServer: the server of tests starts as Vault does. With a directory, it is sealed after a restart, and opens with
// the keys of its initialization.
func TestServer(t *testing.T) {
	data := t.TempDir()
	var first *vaulttest.Server
	t.Run("first", func(t *testing.T) {
		first = vaulttest.Start(t, data)
		if code, _ := get(t, first.URL+"/v1/sys/health", ""); code != http.StatusNotImplemented {
			t.Error("before init, health is", code)
		}
		first.Initialize(t)
		if code, _ := get(t, first.URL+"/v1/sys/health", ""); code != http.StatusServiceUnavailable {
			t.Error("before unseal, health is", code)
		}
		first.Unseal(t)
		first.Do(t, http.MethodPost, "sys/auth/userpass", map[string]string{"type": "userpass"})
		first.Do(t, http.MethodPost, "sys/auth/kubernetes", map[string]string{"type": "kubernetes"})
		first.Do(t, http.MethodPost, "sys/auth/approle", map[string]string{"type": "approle"})
		first.Do(t, http.MethodPost, "auth/userpass/users/ada", map[string]string{"password": "hunter2"})
	})
	t.Run("again", func(t *testing.T) {
		s := vaulttest.Start(t, data)
		if code, _ := get(t, s.URL+"/v1/sys/health", ""); code != http.StatusServiceUnavailable {
			t.Fatal("after a restart, health is", code)
		}
		s.Keys, s.Token = first.Keys, first.Token
		s.Unseal(t)
		out := s.Do(t, http.MethodPost, "auth/userpass/login/ada", map[string]string{"password": "hunter2"})
		auth, _ := out["auth"].(map[string]any)
		token, _ := auth["client_token"].(string)
		if code, _ := get(t, s.URL+"/v1/auth/token/lookup-self", token); code != http.StatusOK {
			t.Error("a user cannot look up the own token:", code)
		}
		if code, body := get(t, s.URL+"/v1/sys/mounts", token); code != http.StatusForbidden || !bytes.Contains(body, []byte("permission denied")) {
			t.Errorf("a user without policies reads mounts: %d %s", code, body)
		}
		_, body := get(t, s.URL+"/v1/sys/health", "")
		var health struct{ Version string }
		if err := json.Unmarshal(body, &health); err != nil || health.Version != "1.21.4" {
			t.Errorf("health says %s", body)
		}
	})
}

func get(t *testing.T, url, token string) (int, []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Vault-Token", token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // only read
	var b bytes.Buffer
	b.ReadFrom(answer.Body) //nolint:errcheck // what there is
	return answer.StatusCode, b.Bytes()
}
