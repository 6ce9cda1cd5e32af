// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package platform_test

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// The API refuses another template of claims, so that the phase could not end any more.
func TestAnotherSizeKeepsVaultsVolume(t *testing.T) {
	dir, s := filepath.Join(modules(t), "vault"), kubectlShell(t)
	variables := func(server map[string]any) map[string]any {
		server["tls_secret"] = "vault-tls"
		return map[string]any{"platform": "acme-eu", "kubeconfig": noCluster, "server": server}
	}
	s.outputs(dir, variables(map[string]any{"storage": "7Gi"}))
	s.outputs(dir, variables(map[string]any{"storage": "9Gi", "storage_class": "fast", "image": "registry.corp.example/vault:2"}))
	shown := s.must(dir, "state", "pull")
	for text, want := range map[string]bool{"7Gi": true, "9Gi": false, "fast": false, "registry.corp.example/vault:2": true} {
		if strings.Contains(shown, text) != want {
			t.Errorf("the state has %s: %v", text, !want)
		}
	}
}

// TestVaultIsToldOfARenewedCertificate runs the script of the second container, with a process that is called as Vault is, and with
// one like a client: an operator who changes the keys must not lose them.
func TestVaultIsToldOfARenewedCertificate(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := errors.Join(os.WriteFile(filepath.Join(dir, name+".new"), []byte(text), 0o700), os.Rename(filepath.Join(dir, name+".new"), filepath.Join(dir, name))); err != nil {
			t.Fatal(err)
		}
	}
	// start starts a program that ends with the test, and returns what it says.
	start := func(path string, args ...string) (*exec.Cmd, *bufio.Reader) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), path, args...)
		cmd.Dir = dir
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
		return cmd, bufio.NewReader(out)
	}
	said := func(out *bufio.Reader, want string) {
		t.Helper()
		if line, err := out.ReadString('\n'); !strings.Contains(line, want) {
			t.Fatalf("%q %v, want %s", line, err, want)
		}
	}
	sh, err := exec.LookPath("sh")
	if err == nil {
		sh, err = filepath.EvalSymlinks(sh)
	}
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(sh)
	if err != nil {
		t.Fatal(err)
	}
	// Under nohup, the processes would ignore the signal if this one did.
	hangUps := make(chan os.Signal, 1)
	signal.Notify(hangUps, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(hangUps) })
	write("vault", string(program))
	write("tls.crt", "first")
	write("tls.key", "first")
	told := `trap 'echo told' HUP; echo ready; while :; do sleep 0.1; done`
	write("server", told)
	write("operator", told)
	vault, saysVault := start(filepath.Join(dir, "vault"), "server", "-config=vault.hcl")
	client, saysClient := start(filepath.Join(dir, "vault"), "operator", "rekey")
	other, saysOther := start(sh, "-c", told)
	said(saysVault, "ready")
	said(saysClient, "ready")
	said(saysOther, "ready")
	processes := filepath.Join(dir, "proc")
	if err := os.Mkdir(processes, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, cmd := range []*exec.Cmd{vault, client, other} {
		pid := strconv.Itoa(cmd.Process.Pid)
		if err := os.Symlink("/proc/"+pid, filepath.Join(processes, pid)); err != nil {
			t.Fatal(err)
		}
	}
	// The script knows the first certificate when it first sleeps.
	write("sleep", "#!"+sh+"\necho sleeping\nexec /bin/sleep \"$1\"\n")
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	_, script := start(sh, filepath.Join(tofutest.RepositoryRoot(t), "examples", "platform", "modules", "vault", "files", "reload.sh"), dir, processes, "0.1")
	said(script, "sleeping")
	for _, certificate := range []string{"second", "third"} {
		write("tls.crt", certificate)
		said(saysVault, "told")
	}
	for what, process := range map[string]struct {
		cmd  *exec.Cmd
		says *bufio.Reader
	}{"a client": {client, saysClient}, "another process": {other, saysOther}} {
		if err := process.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if rest, err := io.ReadAll(process.says); err != nil || len(rest) > 0 {
			t.Errorf("%s is told: %q %v", what, rest, err)
		}
	}
}
