// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package statetest_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/testkit/statetest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"

	"github.com/google/go-cmp/cmp"
)

func tofu(t *testing.T, dir, password string, args ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), tofutest.Tofu(t), args...)
	command.Dir = dir
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TF_HTTP_USERNAME=states", "TF_HTTP_PASSWORD=" + password}
	out, err := command.CombinedOutput()
	return string(out), err
}

func TestTofuKeepsAndLocksItsStateHere(t *testing.T) {
	s := statetest.New(t, "states", "sesame")
	dir := t.TempDir()
	address := s.URL() + "/a/b.tfstate"
	program := "terraform {\n  backend \"http\" {\n    address = \"" + address + "\"\n    lock_address = \"" + address + "\"\n    unlock_address = \"" + address +
		"\"\n  }\n}\nresource \"terraform_data\" \"x\" {\n  input = 1\n}\n"
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(program), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := tofu(t, dir, "wrong", "init", "-input=false"); err == nil {
		t.Errorf("a stranger reads: %s", out)
	}
	for _, args := range [][]string{{"init", "-input=false"}, {"apply", "-input=false", "-auto-approve"}} {
		if out, err := tofu(t, dir, "sesame", args...); err != nil {
			t.Fatalf("tofu %v: %v\n%s", args, err, out)
		}
	}
	if diff := cmp.Diff([]string{"a/b.tfstate"}, s.Paths()); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
	if n := s.Resources("a/b.tfstate"); n != 1 {
		t.Errorf("the state has %d resources", n)
	}
	lock, err := http.NewRequestWithContext(t.Context(), "LOCK", address, strings.NewReader(`{"ID":"somebody"}`))
	if err != nil {
		t.Fatal(err)
	}
	lock.SetBasicAuth("states", "sesame")
	answer, err := (&http.Client{}).Do(lock)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("lock: %v, %v", answer, err)
	}
	answer.Body.Close() //nolint:errcheck // nothing is read
	writes := s.Writes("a/b.tfstate")
	if out, err := tofu(t, dir, "sesame", "apply", "-input=false", "-auto-approve", "-replace=terraform_data.x"); err == nil || !strings.Contains(out, "somebody") {
		t.Errorf("the lock of another client does not stop it: %v\n%s", err, out)
	}
	if got := s.Writes("a/b.tfstate"); got != writes {
		t.Errorf("the locked state was written %d times", got-writes)
	}
}
