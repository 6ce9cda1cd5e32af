// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package vault_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/contracts/bridge/store"
	"github.com/yuba-dev/yuba/internal/testkit/storetest"
	"github.com/yuba-dev/yuba/internal/testkit/vaulttest"
)

func TestVault(t *testing.T) {
	s := vaulttest.New(t)
	// The rights that the documentation asks for, and no more.
	token := s.Token(t, `path "secret/data/configuration/*" { capabilities = ["create", "read", "update", "delete"] }`)
	storetest.Conform(t, &store.Vault{Address: s.URL, Path: "configuration/base", Token: token})

	for name, test := range map[string]struct {
		store *store.Vault
		says  string
	}{
		"no right":  {&store.Vault{Address: s.URL, Path: "other/base", Token: token}, "403"},
		"no token":  {&store.Vault{Address: s.URL, Path: "configuration/base", Token: "hunter2"}, "403"},
		"no engine": {&store.Vault{Address: s.URL, Mount: "kv", Path: "base", Token: s.Root}, "404"},
	} {
		err := test.store.Write(t.Context(), []byte(`{"a":"hunter2"}`), "")
		if err == nil || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %q", name, err, test.says)
		}
	}
}

// TestRemovedSecrets: Vault keeps the versions of a removed secret, so a person can restore them.
func TestRemovedSecrets(t *testing.T) {
	s := vaulttest.New(t)
	v := &store.Vault{Address: s.URL, Path: "base", Token: s.Root}
	if err := v.Write(t.Context(), []byte(`{"a":1}`), ""); err != nil {
		t.Fatal(err)
	}
	if err := v.Delete(t.Context(), "1"); err != nil {
		t.Fatal(err)
	}
	s.Do(t, http.MethodPost, "secret/undelete/base", map[string]any{"versions": []int{1}})
	if d, err := v.Read(t.Context()); err != nil || string(d.Content) != `{"a":1}` {
		t.Fatal(string(d.Content), err)
	}
}
