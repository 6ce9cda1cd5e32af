// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package vaulttest starts the Vault of test/vault: Vault's own core and API, with its storage in memory or in a
// directory.
package vaulttest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// Shares is the number of keys that [Server.Initialize] makes, Threshold how many of them unseal.
const Shares, Threshold = 3, 2

// Server is a running Vault.
type Server struct {
	URL string
	// Token is the root token and Keys are the keys that unseal, once Vault is initialized.
	Token string
	Keys  []string
}

// New starts a Vault that ends with the test. It is initialized and unsealed, and has the KV engine, version 2, at
// secret/.
func New(t testing.TB) *Server {
	t.Helper()
	s := Start(t, "")
	s.Initialize(t)
	s.Unseal(t)
	s.Do(t, http.MethodPost, "sys/mounts/secret", map[string]any{"type": "kv", "options": map[string]string{"version": "2"}})
	// The engine prepares its storage after the mount.
	s.eventually(t, http.StatusOK, "secret/config")
	return s
}

// Start starts a Vault that ends with the test, as it is: not initialized, or sealed if the directory has its data.
// Without a directory, its storage is in memory.
func Start(t testing.TB, data string) *Server {
	t.Helper()
	program := filepath.Join(tofutest.RepositoryRoot(t), "bin", "vault")
	if _, err := os.Stat(program); err != nil {
		t.Fatal("there is no Vault. Build it (4 minutes once):\n    make bin/vault")
	}
	cmd := exec.Command(program, "-listen", "127.0.0.1:0", "-data", data)
	cmd.Env, cmd.Stderr = []string{"HOME=" + t.TempDir()}, os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close() //nolint:errcheck // its end is the signal
		cmd.Wait() //nolint:errcheck // it only serves the test
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal("Vault does not start: ", err)
	}
	return &Server{URL: strings.TrimSpace(address)}
}

// Initialize makes the keys and the root token. Vault stays sealed.
func (s *Server) Initialize(t testing.TB) {
	t.Helper()
	out := s.Do(t, http.MethodPost, "sys/init", map[string]int{"secret_shares": Shares, "secret_threshold": Threshold})
	s.Token, _ = out["root_token"].(string)
	keys, _ := out["keys_base64"].([]any)
	for _, key := range keys {
		s.Keys = append(s.Keys, key.(string)) //nolint:forcetypeassert // Vault's API
	}
	if s.Token == "" || len(s.Keys) != Shares {
		t.Fatalf("Vault made %d keys, want %d and a token", len(s.Keys), Shares)
	}
}

// Unseal unseals Vault with as many of its keys as it needs, and waits until it serves.
func (s *Server) Unseal(t testing.TB) {
	t.Helper()
	for _, key := range s.Keys[:Threshold] {
		s.Do(t, http.MethodPost, "sys/unseal", map[string]string{"key": key})
	}
	s.eventually(t, http.StatusOK, "sys/health")
}

// Seal seals Vault: from now on it serves nothing.
func (s *Server) Seal(t testing.TB) {
	t.Helper()
	s.Do(t, http.MethodPost, "sys/seal", nil)
}

// Limited returns a token with a policy in Vault's language, and nothing else.
func (s *Server) Limited(t testing.TB, name, policy string) string {
	t.Helper()
	s.Do(t, http.MethodPut, "sys/policies/acl/"+name, map[string]string{"policy": policy})
	out := s.Do(t, http.MethodPost, "auth/token/create", map[string]any{"policies": []string{name}, "no_default_policy": true, "no_parent": true, "ttl": "1h"})
	auth, _ := out["auth"].(map[string]any)
	token, _ := auth["client_token"].(string)
	if token == "" {
		t.Fatal("Vault made no token")
	}
	return token
}

// Do makes a call with the root token and returns its answer.
func (s *Server) Do(t testing.TB, method, path string, body any) map[string]any {
	t.Helper()
	status, out, err := s.call(method, path, body)
	if err != nil {
		t.Fatal(err)
	}
	if status >= http.StatusBadRequest {
		t.Fatal(fmt.Errorf("%s %s: %d %v", method, path, status, out["errors"]))
	}
	return out
}

func (s *Server) call(method, path string, body any) (int, map[string]any, error) {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return 0, nil, err
		}
		content = bytes.NewReader(text)
	}
	r, err := http.NewRequest(method, s.URL+"/v1/"+path, content)
	if err != nil {
		return 0, nil, err
	}
	if s.Token != "" {
		r.Header.Set("X-Vault-Token", s.Token)
	}
	answer, err := (&http.Client{Timeout: time.Minute}).Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close() //nolint:errcheck // only read
	out := map[string]any{}
	json.NewDecoder(answer.Body).Decode(&out) //nolint:errcheck // some answers are empty
	return answer.StatusCode, out, nil
}

// eventually waits for a status.
func (s *Server) eventually(t testing.TB, want int, path string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		status, out, err := s.call(http.MethodGet, path, nil)
		if err == nil && status == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("GET %s: %d %v %v, want %d", path, status, out["errors"], err, want)
		}
	}
}
