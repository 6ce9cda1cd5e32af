// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package vaultinit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"

	"github.com/yuba-dev/yuba/internal/testkit/vaulttest"
)

// birth is a new Vault, with three recipients.
type birth struct {
	*testing.T
	vault      *vaulttest.Server
	identities []age.Identity
	options    Options
	news       *bytes.Buffer
}

func newBirth(t *testing.T) *birth {
	t.Helper()
	b := &birth{T: t, vault: vaulttest.Start(t, ""), news: &bytes.Buffer{}}
	b.options = Options{Address: b.vault.URL, KeyFile: filepath.Join(t.TempDir(), "keys.json"), Reader: &Reader{Namespace: "external-secrets", ServiceAccount: "external-secrets", Host: "https://127.0.0.1:1"},
		News: func(format string, args ...any) { fmt.Fprintf(b.news, format+"\n", args...) }}
	for range 3 {
		identity, err := age.GenerateX25519Identity()
		if err != nil {
			t.Fatal(err)
		}
		b.identities = append(b.identities, identity)
		b.options.Recipients = append(b.options.Recipients, identity.Recipient())
		b.options.RecipientTexts = append(b.options.RecipientTexts, identity.Recipient().String())
	}
	return b
}

func (b *birth) run(change ...func(*Options)) (Outcome, error) {
	b.Helper()
	o := b.options
	for _, c := range change {
		c(&o)
	}
	return Run(b.Context(), o)
}

var errKilled = errors.New("killed")

func killedAfter(step string) func(*Options) {
	return func(o *Options) {
		o.after = func(s string) error {
			if s == step {
				return errKilled
			}
			return nil
		}
	}
}

func (b *birth) with(n int) func(*Options) {
	return func(o *Options) { o.Identities = b.identities[:n] }
}

func (b *birth) file() (File, string) {
	b.Helper()
	data, err := os.ReadFile(b.options.KeyFile)
	if err != nil {
		b.Fatal(err)
	}
	var f File
	if err := json.Unmarshal(data, &f); err != nil {
		b.Fatal(err)
	}
	return f, string(data)
}

func TestAVaultIsBorn(t *testing.T) {
	b := newBirth(t)
	out, err := b.run()
	if err != nil {
		t.Fatal(err)
	}
	if out.Verb != VerbInit || out.Shares != 3 || out.Threshold != 2 || !out.RootTokenRevoked || out.Sealed || out.Version != "1.21.4" {
		t.Errorf("outcome %+v", out)
	}
	f, text := b.file()
	info, err := os.Stat(b.options.KeyFile)
	if err != nil || info.Mode().Perm() != 0o600 || f.Phase != PhaseDone || f.RootToken != "" || len(f.Shares) != 3 {
		t.Errorf("key file %v %+v (%v)", info.Mode(), f, err)
	}
	// Each recipient has one share, and no other.
	var keys []string
	for i, share := range f.Shares {
		for j, identity := range b.identities {
			key, err := unseal(share.Sealed, []age.Identity{identity})
			if (err == nil) != (i == j) {
				t.Errorf("recipient %d and share %d: %v", j, i, err)
			}
			if err == nil {
				keys = append(keys, key)
			}
		}
	}
	for _, key := range keys {
		if strings.Contains(text, key) || strings.Contains(b.news.String(), key) {
			t.Error("a key is in clear text")
		}
	}
	// A second call finds it, and changes nothing.
	again, err := b.run()
	if err != nil || again.Verb != VerbNothing {
		t.Errorf("again: %+v (%v)", again, err)
	}
	if _, now := b.file(); now != text {
		t.Error("the second call has changed the key file")
	}
	// Somebody else's key file does not help.
	var refused *RefusedError
	if _, err := b.run(func(o *Options) { o.KeyFile = filepath.Join(t.TempDir(), "other") }); !errors.As(err, &refused) {
		t.Errorf("another key file: %v", err)
	}
}

// A call may end after each of its steps; the next one continues, and the root token never survives.
func TestInterruptedBirthsContinue(t *testing.T) {
	for _, step := range []string{"reserved", "sealed", "unsealed", "configured", "revoked"} {
		t.Run(step, func(t *testing.T) {
			b := newBirth(t)
			if _, err := b.run(killedAfter(step)); !errors.Is(err, errKilled) {
				t.Fatal(err)
			}
			f, text := b.file()
			if step != "reserved" && (f.Phase != PhaseSealed || !strings.Contains(text, "AGE ENCRYPTED FILE")) {
				t.Errorf("the keys are not saved: %+v", f)
			}
			token := ""
			if step != "reserved" {
				var refused *RefusedError
				if _, err := b.run(b.with(1)); !errors.As(err, &refused) || !strings.Contains(err.Error(), "identities") {
					t.Errorf("with one share of two: %v", err)
				}
				answer, ok := f.open(b.identities[:2])
				if !ok {
					t.Fatal("two recipients cannot open the key file")
				}
				if token = answer.RootToken; strings.Contains(text, token) {
					t.Error("the root token is in clear text")
				}
			}
			out, err := b.run(b.with(2))
			if err != nil || !out.RootTokenRevoked {
				t.Fatalf("continued: %+v (%v)", out, err)
			}
			if f, _ := b.file(); f.Phase != PhaseDone || f.RootToken != "" {
				t.Errorf("key file %+v", f)
			}
			if token == "" {
				return
			}
			vault, err := newAPI(b.vault.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			vault.token = token
			if err := vault.call(t.Context(), http.MethodGet, "auth/token/lookup-self", nil, nil); statusOf(err) != http.StatusForbidden {
				t.Errorf("the root token is accepted: %v", err)
			}
		})
	}
}

// The answer of Vault exists once. If it is lost, the next call says so, and does not pretend.
func TestALostAnswerIsTold(t *testing.T) {
	b := newBirth(t)
	if _, err := b.run(killedAfter("answered")); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	_, err := b.run(b.with(3))
	var refused *RefusedError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "its answer with the keys was lost") || !strings.Contains(err.Error(), "empty its storage") {
		t.Fatalf("after a lost answer: %v", err)
	}
	// With an empty storage, the same call begins again.
	b.options.Address = vaulttest.Start(t, "").URL
	f, _ := b.file()
	f.Address = b.options.Address
	if err := f.fill(b.options.KeyFile); err != nil {
		t.Fatal(err)
	}
	if out, err := b.run(); err != nil || out.Verb != VerbInit {
		t.Errorf("begun again: %+v (%v)", out, err)
	}
}

// If the keys cannot be written, the caller gets them, encrypted.
func TestKeysThatCannotBeWrittenAreNotLost(t *testing.T) {
	b := newBirth(t)
	_, err := b.run(func(o *Options) {
		o.after = func(step string) error {
			if step == "answered" {
				return os.Remove(o.KeyFile)
			}
			return nil
		}
	})
	var unsaved *UnsavedError
	if !errors.As(err, &unsaved) {
		t.Fatal(err)
	}
	if err := os.WriteFile(b.options.KeyFile, []byte(unsaved.Sealed), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := b.run(b.with(2)); err != nil || out.Verb != VerbResume {
		t.Errorf("continued: %+v (%v)", out, err)
	}
}

func TestOnlySafeAddressesAreUsed(t *testing.T) {
	for address, ok := range map[string]bool{
		"https://vault.example.com:8200": true, "http://127.0.0.1:8200": true, "http://[::1]:8200": true, "http://localhost:8200": true,
		"http://vault.example.com:8200": false, "http://10.0.0.1": false, "vault:8200": false, "": false, "https://user:word@vault": false, "ftp://127.0.0.1": false,
	} {
		if _, err := newAPI(address, nil); (err == nil) != ok {
			t.Errorf("%q: %v", address, err)
		}
	}
}

func TestBadOptionsAreRefused(t *testing.T) {
	b := newBirth(t)
	for sentence, change := range map[string]func(*Options){
		"one of three":    func(o *Options) { o.Threshold = 1 },
		"four of three":   func(o *Options) { o.Threshold = 4 },
		"no recipient":    func(o *Options) { o.Recipients, o.RecipientTexts = nil, nil },
		"no key file":     func(o *Options) { o.KeyFile = "" },
		"another file":    func(o *Options) { o.KeyFile = filepath.Join("testdata", "..", "init.go") },
		"a missing place": func(o *Options) { o.KeyFile = filepath.Join(t.TempDir(), "missing", "keys") },
	} {
		if _, err := b.run(change); err == nil {
			t.Errorf("%s was accepted", sentence)
		}
	}
	var status sealStatus
	vault, err := newAPI(b.vault.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := vault.call(t.Context(), http.MethodGet, "sys/seal-status", nil, &status); err != nil || status.Initialized {
		t.Errorf("Vault was initialised nevertheless (%v)", err)
	}
}
