// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package vaulttest starts Vault's KV engine, with its storage in memory, behind the server of test/vault.
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

// Server is a running engine, version 2, at secret/, with its only token.
type Server struct{ URL, Token string }

// New starts a server that ends with the test.
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

// Do makes a call and returns its data.
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
	r.Header.Set("X-Vault-Token", s.Token)
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
