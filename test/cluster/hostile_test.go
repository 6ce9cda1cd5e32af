// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/remotecommand"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/backend/pod"
)

// hostile tries to reach what belongs to the runner and to other stacks, and to leave something in
// the Pod. It fails if anything succeeds.
const hostile = `
resource "terraform_data" "attack" {
  provisioner "local-exec" {
    command = <<-EOT
      try() { what=$1; shift; if "$@" >/dev/null 2>&1; then bad="$bad $what"; fi; }
      try token cat /var/run/secrets/yuba.dev/token
      try runner ls /yuba/runner
      try spool ls /yuba/runner/runs
      try work ls /yuba/work
      try victim ls /yuba/work/$(pwd | cut -d/ -f4)/victim
      try environ cat /proc/1/environ
      try processes ls /proc/1
      try providers touch /yuba/providers/mine
      try home touch /home/mine
      try temporary touch /tmp/mine
      try memory touch /dev/shm/mine
      try kill kill -9 1
      try poll wget -q -O - --no-check-certificate --post-data={} https://yuba.yuba-system.svc:7445/run/v1/poll
      (setsid sleep 100000 </dev/null >/dev/null 2>&1 &)
      mkfifo left; (setsid sh -c 'trap "" TERM HUP INT; while :; do sleep 1000; done' </dev/null >/dev/null 2>&1 &)
      chmod 0 /yuba/runner/lock /yuba/work/*/victim /yuba/work /yuba/providers 2>/dev/null
      [ -z "$bad" ] || { echo "BREACH:$bad"; exit 1; }
    EOT
  }
}
`

func TestAHostileStackLeavesNothingInItsPod(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, false)
	tm.deploy("victim", small, nil)
	tm.await("victim", "it is applied", applied)
	before := tm.onlyPod()
	tm.deploy("attacker", hostile, nil)
	tm.await("attacker", "every attack fails", func(obj *infrav1.Terraform) string {
		if strings.Contains(describe(obj), "BREACH:") {
			t.Fatal(describe(obj))
		}
		return applied(obj)
	})
	tm.deploy("next", small, nil)
	tm.await("next", "it is applied after the attack", applied)
	after := tm.onlyPod()
	if after.UID != before.UID {
		t.Errorf("the Pod was not used again: %s, then %s", before.Name, after.Name)
	}
	if left := tm.exec(after, "ps"); strings.Contains(left, "sleep") || strings.Contains(left, "trap") {
		t.Errorf("processes outlived their run:\n%s", left)
	}
	if left := tm.exec(after, "ls", "/tmp"); strings.TrimSpace(left) != "" {
		t.Errorf("files are left in /tmp: %s", left)
	}
}

// exec runs a program in the runner's container, which is not a run's.
func (tm *team) exec(p corev1.Pod, command ...string) string {
	tm.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	must(tm.t, err)
	request := raw.CoreV1().RESTClient().Post().Resource("pods").Namespace(p.Namespace).Name(p.Name).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Container: pod.Container, Command: command, Stdout: true, Stderr: true}, scheme.ParameterCodec)
	executor, err := remotecommand.NewSPDYExecutor(config, "POST", request.URL())
	must(tm.t, err)
	var out bytes.Buffer
	must(tm.t, executor.StreamWithContext(tm.t.Context(), remotecommand.StreamOptions{Stdout: &out, Stderr: &out}))
	return out.String()
}
