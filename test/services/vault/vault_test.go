// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package vault_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/contracts/bridge/store"
	"github.com/yuba-dev/yuba/internal/testkit/storetest"
	"github.com/yuba-dev/yuba/internal/testkit/vaulttest"
)

func TestVault(t *testing.T) {
	s := vaulttest.New(t)
	storetest.Conform(t, &store.Vault{Address: s.URL, Path: "configuration/base", Token: s.Token})

	for name, test := range map[string]struct {
		store *store.Vault
		says  string
	}{
		"no token":  {&store.Vault{Address: s.URL, Path: "configuration/base", Token: "hunter2"}, "403"},
		"no engine": {&store.Vault{Address: s.URL, Mount: "kv", Path: "base", Token: s.Token}, "404"},
	} {
		err := test.store.Write(t.Context(), []byte(`{"a":"hunter2"}`), "")
		if err == nil || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %q", name, err, test.says)
		}
	}
}

// TestNumbers: the engine rounds numbers to doubles, so that a document with others would never be equal
// to its revision. It is refused.
func TestNumbers(t *testing.T) {
	s := vaulttest.New(t)
	v := &store.Vault{Address: s.URL, Path: "base", Token: s.Token}
	s.Do(t, http.MethodPost, "secret/data/other", json.RawMessage(`{"data":{"n":12345678901234567890}}`))
	other := &store.Vault{Address: s.URL, Path: "other", Token: s.Token}
	if d, err := other.Read(t.Context()); err != nil || string(d.Content) == `{"n":12345678901234567890}` {
		t.Fatal("the engine keeps all digits now, so the store need not refuse them:", string(d.Content), err)
	}
	for number, kept := range map[string]bool{"0": true, "-1.5": true, "0.1": true, "9007199254740991": true, "9007199254740993": false, "12345678901234567890": false, "0.12345678901234567890": false} {
		content := `{"list":[{"n":` + number + `}]}`
		err := v.Write(t.Context(), []byte(content), "")
		if r := new(store.RefusedError); !kept {
			if !errors.As(err, &r) || !strings.Contains(err.Error(), "round the number "+number) {
				t.Errorf("%s: %v", number, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(number, err)
		}
		d, err := v.Read(t.Context())
		if err != nil || string(d.Content) != content {
			t.Errorf("%s: read %s, %v", number, d.Content, err)
		}
		if err := v.Delete(t.Context(), d.Tag); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRemovedSecrets: Vault keeps the versions of a removed secret, so a person can restore them.
func TestRemovedSecrets(t *testing.T) {
	s := vaulttest.New(t)
	v := &store.Vault{Address: s.URL, Path: "base", Token: s.Token}
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
