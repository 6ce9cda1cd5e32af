// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package vaulttest starts a real Vault: the core of test/vault, with its storage in memory.
package vaulttest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/testkit/proctest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// Server is a running Vault with the KV engine, version 2, at secret/.
type Server struct{ URL, Root string }

// New starts a Vault that ends with the test.
func New(t testing.TB) *Server {
	t.Helper()
	program := filepath.Join(tofutest.RepositoryRoot(t), "bin", "vault")
	if _, err := os.Stat(program); err != nil {
		t.Fatal("there is no Vault. Build it:\n    make bin/vault")
	}
	address, err := proctest.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-listen", address)
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
	token, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal("Vault does not start: ", err)
	}
	return &Server{"http://" + address, strings.TrimSpace(token)}
}

// Do makes a call as root and returns its data.
func (s *Server) Do(t testing.TB, method, path string, body any) map[string]any {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequest(method, s.URL+"/v1/"+path, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Vault-Token", s.Root)
	answer, err := (&http.Client{Timeout: time.Minute}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // only read
	out := map[string]any{}
	json.NewDecoder(answer.Body).Decode(&out) //nolint:errcheck // some answers are empty
	if answer.StatusCode >= http.StatusBadRequest {
		t.Fatal(fmt.Errorf("%s %s: %s %v", method, path, answer.Status, out["errors"]))
	}
	return out
}

// Token returns a token that may do what a policy says.
func (s *Server) Token(t testing.TB, policy string) string {
	t.Helper()
	s.Do(t, http.MethodPut, "sys/policies/acl/test", map[string]any{"policy": policy})
	out := s.Do(t, http.MethodPost, "auth/token/create", map[string]any{"policies": []string{"test"}, "no_parent": true})
	return out["auth"].(map[string]any)["client_token"].(string) //nolint:forcetypeassert // of Vault
}
