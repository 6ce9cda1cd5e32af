// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package local_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/yuba-dev/yuba/internal/platform/callhome"
)

// limit is how long a platform of three nodes may take.
const limit = 6 * time.Minute

// TestThreeMachinesBecomeAKubernetes: tofu makes a network and three machines; their cloud-config makes a cluster of them, which calls
// home; Pods run on each node and reach each other. Then tofu destroys all of it, and nothing stays on this machine.
func TestThreeMachinesBecomeAKubernetes(t *testing.T) {
	w := newWorld(t)
	began := time.Now()
	say := func(what string) { t.Logf("%6.1f s: %s", time.Since(began).Seconds(), what) }
	common := map[string]any{"platform": "acme", "region": "local"}
	with := func(more map[string]any) map[string]any {
		all := map[string]any{}
		for _, m := range []map[string]any{common, more} {
			for k, v := range m {
				all[k] = v
			}
		}
		return all
	}
	network := w.apply("local/network", "network", with(map[string]any{"cidr": cidr}))
	say("the network is there")
	nodes := w.apply("local/machines", "machines", with(map[string]any{"network": network, "workers": 2, "join_token": "0123456789abcdef0123456789abcdef",
		"call_home": w.call, "call_home_token": w.token}))
	say("three machines run")
	var arrived corev1.Secret
	w.eventually(3*time.Minute, "the first node calls home", func() error {
		if err := w.api.Get(t.Context(), w.ticket, &arrived); err != nil {
			return err
		}
		if state := callhome.StateOf(&arrived, time.Now()); state != callhome.Arrived {
			return fmt.Errorf("the ticket is %s", state)
		}
		return nil
	})
	say("the kubeconfig has arrived")
	kubeconfig := string(arrived.Data[callhome.KubeconfigKey])
	cluster := w.apply("kubernetes", "kubernetes", with(map[string]any{"machines": nodes, "kubeconfig": kubeconfig, "image": "localhost/pause:1"}))
	say("a Pod runs on each node: " + string(cluster))
	if took := time.Since(began); took > limit {
		t.Errorf("it took %s, want at most %s", took, limit)
	}
	// The token is spent, so its Secret is gone: machines must not change.
	w.apply("local/machines", "machines", with(map[string]any{"network": network, "workers": 2, "join_token": "0123456789abcdef0123456789abcdef"}))
	if out, err := w.tofu("local/machines", "plan", "-no-color", "-detailed-exitcode"); err != nil {
		t.Errorf("without the token the machines change: %v\n%s", err, out)
	}
	w.unchanged("kubernetes")

	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	checkNodes(t, w, file)
	checkPods(t, w, file)
	checkTuning(t, w)
	say("Pods reach each other")
	destroyAll(t, w)
	say("everything is gone")
}

func checkNodes(t *testing.T, w *world, kubeconfig string) {
	t.Helper()
	out, err := w.kubectl(kubeconfig, "get", "nodes", "--output=json")
	if err != nil {
		t.Fatal(err)
	}
	var list corev1.NodeList
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 3 {
		t.Fatalf("%d nodes", len(list.Items))
	}
	for _, n := range list.Items {
		ready := false
		for _, c := range n.Status.Conditions {
			ready = ready || c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		}
		if !ready || n.Status.Capacity.Pods().Value() != 50 {
			t.Errorf("%s: ready %v, Pods %s, want 50 as the modules say", n.Name, ready, n.Status.Capacity.Pods())
		}
	}
}

// checkPods runs a server on one node, and asks it from another one by the address of its Pod and by the name of its Service.
func checkPods(t *testing.T, w *world, kubeconfig string) {
	t.Helper()
	manifest := `
apiVersion: v1
kind: Pod
metadata: {name: server, labels: {app: server}}
spec:
  nodeName: acme-local-agent-1
  terminationGracePeriodSeconds: 0
  containers:
  - {name: server, image: "localhost/probe:1", imagePullPolicy: Never, args: [serve, ":8080", hello]}
---
apiVersion: v1
kind: Service
metadata: {name: server}
spec: {selector: {app: server}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: Pod
metadata: {name: client}
spec:
  nodeName: acme-local-agent-2
  terminationGracePeriodSeconds: 0
  containers:
  - {name: client, image: "localhost/probe:1", imagePullPolicy: Never, args: [serve, ":8080", other]}
`
	file := filepath.Join(t.TempDir(), "pods.yaml")
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := w.kubectl(kubeconfig, "apply", "-f", file); err != nil {
		t.Fatal(err)
	}
	if _, err := w.kubectl(kubeconfig, "wait", "--for=condition=Ready", "pod", "--all", "--timeout=90s"); err != nil {
		t.Fatal(err)
	}
	address, err := w.kubectl(kubeconfig, "get", "pod", "server", "--output=jsonpath={.status.podIP}")
	if err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{"http://" + address + ":8080/", "http://server.default.svc.cluster.local/"} {
		w.eventually(time.Minute, "a Pod reaches "+url, func() error {
			out, err := w.kubectl(kubeconfig, "exec", "client", "--", "/probe", "get", url)
			if err == nil && out != "hello" {
				err = fmt.Errorf("it answers %q", out)
			}
			return err
		})
	}
}

// checkTuning finds the options of the modules in the arguments of the components that run.
func checkTuning(t *testing.T, w *world) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		text, _ := os.ReadFile(file) // it may have ended
		all.WriteString(strings.ReplaceAll(string(text), "\x00", " ") + "\n")
	}
	for _, want := range []string{"--node-monitor-grace-period=20s", "--node-monitor-period=5s", "--default-watch-cache-size=50", "--max-pods=50"} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("no component runs with %s", want)
		}
	}
	for _, secret := range []string{w.token, "0123456789abcdef0123456789abcdef"} {
		if strings.Contains(all.String(), secret) {
			t.Error("an argument of a process has a secret")
		}
	}
}

// destroyAll destroys the phases in the reverse order, and looks for what they left.
func destroyAll(t *testing.T, w *world) {
	t.Helper()
	// The cluster's objects end with it.
	for _, module := range []string{"local/machines", "local/network"} {
		if out, err := w.tofu(module, "destroy", "-no-color", "-auto-approve"); err != nil {
			t.Fatalf("destroy %s: %v\n%s", module, err, out)
		}
	}
	out, err := exec.Command("sh", "-c", "ip -o link; ip netns; ls -d /sys/fs/cgroup/*/lm* 2>/dev/null; cat /proc/mounts").CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "lmb") || strings.Contains(line, "lmn") || strings.Contains(line, "lmi") || strings.Contains(line, w.host) {
			t.Errorf("this is left: %s", line)
		}
	}
	left, err := filepath.Glob(filepath.Join(w.host, "*", "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("these are left: %v %v", left, err)
	}
}
