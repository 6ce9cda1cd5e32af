// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

func TestARunnerThatMustConfineRefusesAMachineThatCannot(t *testing.T) {
	b := newBench(t).unconfined()
	_, err := FindWalls(t.Context(), b.opts.Sandbox, b.opts.WorkRoot, true)
	var unconfined *UnconfinedError
	if !errors.As(err, &unconfined) {
		t.Fatalf("%v", err)
	}
	for _, words := range []string{"--require-confinement", "namespaces: this kernel has no namespaces. Programs see", "Landlock: this kernel has no Landlock", "docs/how-to/confinement.md"} {
		if !strings.Contains(err.Error(), words) {
			t.Errorf("no %q in %v", words, err)
		}
	}
	walls, err := FindWalls(t.Context(), b.opts.Sandbox, b.opts.WorkRoot, false)
	if err != nil || walls.Complete() {
		t.Errorf("%+v, %v", walls, err)
	}
}

// caller is a program that reports whether it can connect to a listener.
func caller(listener net.Listener) map[string]string {
	return program(fmt.Sprintf(`
resource "terraform_data" "a" {
  provisioner "local-exec" {
    interpreter = ["/bin/bash", "-c"]
    command     = "r=reached; (exec 3<>/dev/tcp/127.0.0.1/%d) 2>/dev/null || r='not reached'; echo it is $r"
  }
}`, listener.Addr().(*net.TCPAddr).Port)) //nolint:forcetypeassert,errcheck // of a TCP listener
}

// Without a network, programs reach nothing, not even this machine. Without namespaces they do not
// start.
func TestRunsWithoutANetwork(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	text := caller(listener)
	b := newBench(t).start()
	open := b.stack("open", run.OperationPlanAndApply, text)
	b.succeed(open)
	if !strings.Contains(string(open.log), "it is reached") {
		t.Errorf("the listener is unreachable:\n%s", open.log)
	}
	closed := b.stack("closed", run.OperationPlanAndApply, text)
	closed.spec.Limits.Network = run.NoNetwork
	if !b.walls().Alone() {
		if result := b.do(closed); result.Class != run.FailureConfiguration || !strings.Contains(result.Error, "without a network") {
			t.Errorf("%+v", result)
		}
		return
	}
	b.succeed(closed)
	if !strings.Contains(string(closed.log), "it is not reached") {
		t.Errorf("it has a network:\n%s", closed.log)
	}
}

// Programs that a user's shell starts have no network either.
func TestShellsWithoutANetwork(t *testing.T) {
	b := newBench(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	r := b.stack("shell", run.OperationShell, caller(listener))
	r.spec.Limits.Network = run.NoNetwork
	out, code, result := b.shell(r, "", "tofu", "apply", "-auto-approve", "-no-color")
	if !b.walls().Alone() {
		if result.Class != run.FailureConfiguration {
			t.Errorf("%+v", result)
		}
		return
	}
	if code != 0 || !strings.Contains(out, "it is not reached") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

func TestARunThatMayHaveNoNetworkDoesNotStartWithOne(t *testing.T) {
	b := newBench(t).unconfined().start()
	r := b.stack("open", run.OperationPlan, program(twoThings))
	r.spec.Limits.Network = run.NoNetwork
	if result := b.do(r); result.Class != run.FailureConfiguration || !strings.Contains(result.Error, "start a program without a network") {
		t.Errorf("%+v", result)
	}
}
