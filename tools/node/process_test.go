// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// sleeper starts a process that is recorded as a part.
func sleeper(t *testing.T, dir, name string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	})
	if err := record(dir, name, cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	return cmd
}

func TestStopEndsWhatItStarted(t *testing.T) {
	dir := t.TempDir()
	cmd := sleeper(t, dir, "kubelet")
	if err := stop(t.Context(), dir, "kubelet", "proxy"); err != nil {
		t.Fatal(err)
	}
	if _, err := markOf(cmd.Process.Pid); err == nil {
		t.Error("it lives")
	}
	if _, err := os.Stat(filepath.Join(dir, "kubelet.pid")); !os.IsNotExist(err) {
		t.Errorf("its record is left: %v", err)
	}
}

// Another process that has the number now is left alone.
func TestStopSparesAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	cmd := sleeper(t, dir, "kubelet")
	file := filepath.Join(dir, "kubelet.pid")
	for _, mark := range []string{"an-earlier-boot 12345", "x"} {
		if err := os.WriteFile(file, fmt.Appendf(nil, "%d %s", cmd.Process.Pid, mark), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := stop(t.Context(), dir, "kubelet"); err != nil {
			t.Error(err)
		}
		if _, err := markOf(cmd.Process.Pid); err != nil {
			t.Fatalf("%q: it was stopped", mark)
		}
	}
	for _, content := range []string{fmt.Sprint(cmd.Process.Pid), "", "1 x", "-1 x"} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := stop(t.Context(), dir, "kubelet"); err == nil || !strings.Contains(err.Error(), "does not identify a process") {
			t.Errorf("%q: %v", content, err)
		}
	}
	if _, err := markOf(cmd.Process.Pid); err != nil {
		t.Error("it was stopped")
	}
}
