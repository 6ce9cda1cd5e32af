// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// outage is longer than a leader keeps its Lease without the API.
const outage = 20 * time.Second

// An apply that begins before the API server dies ends while it is dead, and its outcome arrives.
func TestARunGoesOnWithoutTheAPIServer(t *testing.T) {
	tm := newTeam(t, false)
	tm.deploy("slow", slow, nil)
	began := tm.await("slow", "it applies", applying).Status.CurrentRun.ID
	before := tm.onlyPod()
	node(t, "kill", "apiserver")
	time.Sleep(outage) //nolint:forbidigo // the length of the outage is the test's input
	node(t, "start", "apiserver")
	obj := tm.awaitAfterOutage("slow", "it is applied", applied)
	if obj.Status.LastRun.ID != began || obj.Status.LastRun.Status != string(run.OutcomeSucceeded) {
		t.Errorf("run %s began, and the last run is %+v", began, obj.Status.LastRun)
	}
	if after := tm.onlyPod(); after.UID != before.UID {
		t.Errorf("Pod %s began, and Pod %s is there", before.Name, after.Name)
	}
}

// The same without the store of logs, plans and versions of states.
func TestARunGoesOnWithoutTheBlobStore(t *testing.T) {
	tm := newTeam(t, false)
	tm.deploy("slow", slow, nil)
	began := tm.await("slow", "it applies", applying).Status.CurrentRun.ID
	pid, err := strconv.Atoi(strings.TrimSpace(readFile(t, filepath.Join(nodeDir(), "s3.pid"))))
	must(t, err)
	must(t, syscall.Kill(pid, syscall.SIGKILL))
	t.Cleanup(func() { startS3(t) })
	time.Sleep(outage) //nolint:forbidigo // the length of the outage is the test's input
	startS3(t)
	obj := tm.awaitAfterOutage("slow", "it is applied", applied)
	if obj.Status.LastRun.ID != began || obj.Status.LastRun.Status != string(run.OutcomeSucceeded) {
		t.Errorf("run %s began, and the last run is %+v", began, obj.Status.LastRun)
	}
	tm.deploy("next", small, nil)
	tm.await("next", "it is applied", applied)
}

// A node that hangs keeps its Pods in the API. Their places get others, and a run that may still
// work keeps its lock until somebody says that the node is gone.
func TestAPodThatHangs(t *testing.T) {
	t.Run("is replaced when it is idle", func(t *testing.T) {
		tm := newTeam(t, false)
		tm.deploy("one", small, nil)
		tm.await("one", "it is applied", applied)
		hanging := tm.onlyPod()
		hang(t, &hanging)
		tm.deploy("two", small, nil)
		tm.await("two", "it is applied", applied)
	})
	t.Run("keeps its run", func(t *testing.T) {
		tm := newTeam(t, false)
		tm.deploy("slow", slow, nil)
		began := tm.await("slow", "it applies", applying).Status.CurrentRun.ID
		hanging := tm.onlyPod()
		hang(t, &hanging)
		obj := tm.await("slow", "Ready says so", says(run.WaitsForReport))
		if obj.Status.CurrentRun == nil || obj.Status.CurrentRun.ID != began {
			t.Fatalf("the run is %+v", obj.Status.CurrentRun)
		}
		kill(t, &hanging)
		tm.await("slow", "its run is interrupted", func(obj *infrav1.Terraform) string {
			if last := obj.Status.LastRun; last == nil || last.ID != began || last.Status != string(run.OutcomeInterrupted) {
				return "it is not interrupted"
			}
			return ""
		})
		tm.await("slow", "another run applies it", applied)
	})
	t.Run("goes on when it was only slow", func(t *testing.T) {
		tm := newTeam(t, false)
		tm.deploy("slow", slow, nil)
		began := tm.await("slow", "it applies", applying).Status.CurrentRun.ID
		hanging := tm.onlyPod()
		wake := hang(t, &hanging)
		tm.await("slow", "Ready says so", says(run.WaitsForReport))
		wake()
		if obj := tm.await("slow", "it is applied", applied); obj.Status.LastRun.ID != began {
			t.Errorf("run %s began, and the last run is %+v", began, obj.Status.LastRun)
		}
	})
}

// awaitAfterOutage is await, whose requests may fail at first.
func (tm *team) awaitAfterOutage(name, sentence string, until func(*infrav1.Terraform) string) *infrav1.Terraform {
	tm.t.Helper()
	eventually(tm.t, "the API answers", func() string {
		if err := raw.Discovery().RESTClient().Get().AbsPath("/readyz").Do(tm.t.Context()).Error(); err != nil {
			return err.Error()
		}
		return ""
	})
	return tm.await(name, sentence, until)
}

// nodeDir is the directory of the node, and node does something with one of its parts.
func nodeDir() string { return filepath.Dir(*kubeconfig) }

func node(t *testing.T, verb, part string) {
	t.Helper()
	do(t, "", "kube-node", verb, nodeDir(), part)
}

func startS3(t *testing.T) {
	t.Helper()
	cmd := exec.Command("../../tools/cluster-up", "--s3")
	cmd.Env = append(os.Environ(), "NODE="+nodeDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("start the S3 server: %v\n%s", err, out)
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(name) //nolint:gosec // a test's own
	must(t, err)
	return string(content)
}

// hang stops all processes of a Pod, as its node's kernel does when it hangs. wake continues those
// that are left, which also happens at the end of the test.
func hang(t *testing.T, p *corev1.Pod) (wake func()) {
	t.Helper()
	pids := processesOf(t, p)
	if len(pids) < 2 {
		t.Fatalf("Pod %s has the processes %v, want at least the pause container and a runner", p.Name, pids)
	}
	signal := func(s syscall.Signal) {
		for _, pid := range pids {
			if inPod(pid, p) {
				_ = syscall.Kill(pid, s) // it may have ended meanwhile
			}
		}
	}
	signal(syscall.SIGSTOP)
	wake = func() { signal(syscall.SIGCONT) }
	t.Cleanup(wake)
	return wake
}

func processesOf(t *testing.T, p *corev1.Pod) (pids []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	must(t, err)
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && inPod(pid, p) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func inPod(pid int, p *corev1.Pod) bool {
	groups, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cgroup"))
	uid := string(p.UID)
	return err == nil && (strings.Contains(string(groups), uid) || strings.Contains(string(groups), strings.ReplaceAll(uid, "-", "_")))
}
