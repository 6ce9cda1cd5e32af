// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package local_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/testkit/proctest"
)

// phases are those of the platform, in their order.
var phases = []string{"network", "machines", "kubernetes", "yuba"}

// TestAPlatformThatOwnsItself: a blueprint becomes three machines, a Kubernetes and a Yuba in it. The platform moves there with
// its stacks, states and histories; the home that made it refuses to run them, and then it is gone. The cluster checks
// its own machines for drift, and its archive is sealed.
func TestAPlatformThatOwnsItself(t *testing.T) {
	l := newLaptop(t)
	began := time.Now()
	say := func(what string) { t.Logf("%6.1f s: %s", time.Since(began).Seconds(), what) }

	l.bootstrap()
	say("three machines are a Kubernetes with Yuba in it")

	stop := l.serve()
	cluster := l.kubeconfig()
	l.move(cluster)
	say("the platform has moved into its cluster")
	l.refuses()
	say("the home that made it refuses to run it")
	stop()
	if err := os.RemoveAll(l.home); err != nil {
		t.Fatal(err)
	}

	// Nothing of the laptop is needed any more.
	c := &inCluster{laptop: l, kubeconfig: cluster}
	c.ownsItself()
	say("the platform is ready, and says so in its cluster")
	c.hasNoDrift()
	say("no stack has drifted, say plans in Pods")
	c.isSealed()
	say("the archive is sealed and verified")
}

// laptop is a home that bootstraps a platform.
type laptop struct {
	*world
	home, blueprint, callHome string
}

const blueprintOfAcme = `apiVersion: yuba.dev/v1alpha1
kind: Platform
metadata: {name: acme}
spec:
  organization: {name: acme}
  domain: {fqdn: acme.example.org}
  approval: Auto
  library: {sourceRef: {kind: ExternalArtifact, name: modules}}
  regions: [{name: eu, provider: local, workers: 2, credentialsRef: {name: local}}]
  phases:
  - {name: network, variables: {cidr: 10.77.0.0/24}}
  - {name: kubernetes, variables: {image: "localhost/pause:1"}}
  - {name: gitops, disabled: true}
  components: [{name: yuba}]
`

// outside is an address of this machine that all machines and their Pods reach, before and after their network exists.
const outside = "10.78.0.1"

func newLaptop(t *testing.T) *laptop {
	t.Helper()
	addAddress(t, outside)
	l := &laptop{world: newHost(t, "--listen", outside+":0", "--images", archiveOfImages(t)), callHome: freePort(t, outside)}
	dir := t.TempDir()
	l.home, l.blueprint = filepath.Join(dir, "home"), filepath.Join(dir, "platform.yaml")
	l.file(l.blueprint, blueprintOfAcme)
	l.file(filepath.Join(dir, "local.env"), "MACHINES_ENDPOINT="+l.read("endpoint")+"\nMACHINES_TOKEN="+l.read("token")+"\n")
	l.file(filepath.Join(l.modules, "yuba", "manifests", "kinds.yaml"), l.program("yuba", "crds", "print"))
	l.file(filepath.Join(l.modules, "yuba", "manifests", "volume.yaml"), volume)
	l.file(filepath.Join(l.modules, "yuba", "manifests", "yuba.yaml"), l.program("helm", "template", "yuba", "charts/yuba", "--namespace", "yuba-system", "--no-hooks",
		"--set", "image.tag="+tag+",image.pullPolicy=Never,runner.image.tag="+tag+",runner.image.pullPolicy=Never,eventsAddress=,persistence.existingClaim=yuba",
		"--set", "runner.serviceAccount.allowedNamespaces={default}"))
	t.Cleanup(func() {
		if err := proctest.End(dir); err != nil {
			t.Error(err)
		}
	})
	return l
}

// volume is a directory of the machine with the control plane: machines here have no storage of a provider.
const volume = `apiVersion: v1
kind: PersistentVolume
metadata: {name: yuba}
spec:
  capacity: {storage: 10Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: machine
  persistentVolumeReclaimPolicy: Retain
  local: {path: /var/lib/rancher/yuba}
  nodeAffinity:
    required:
      nodeSelectorTerms:
      - matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [acme-eu-eu-server-1]}]
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: yuba, namespace: yuba-system}
spec:
  storageClassName: machine
  accessModes: [ReadWriteOnce]
  volumeName: yuba
  resources: {requests: {storage: 10Gi}}
`

// bootstrap makes the platform with one command.
func (l *laptop) bootstrap() {
	l.t.Helper()
	ended := make(chan struct{})
	defer close(ended)
	go l.makeVolume(ended)
	dir := filepath.Dir(l.blueprint)
	out := l.program("yuba", append([]string{"bootstrap", "--from", l.blueprint, "--modules", l.modules, "--credentials", "local=" + filepath.Join(dir, "local.env"),
		"--home", l.home, "-o", "json", "--timeout", "12m"}, l.serving()...)...)
	began := time.Time{}
	for line := range strings.Lines(out) {
		var e struct {
			Time                         time.Time
			Phase, State, Message, Event string
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			l.t.Fatalf("%s: %v", line, err)
		}
		if began.IsZero() {
			began = e.Time
		}
		if e.State != "" {
			l.t.Logf("    %6.1f s: %s %s %s", e.Time.Sub(began).Seconds(), e.Phase, e.State, e.Message)
		}
	}
}

// serving are the flags of commands that run the home.
func (l *laptop) serving() []string {
	return []string{"--provider-mirror", *providers, "--call-home-address", l.callHome, "--allow-non-loopback"}
}

// move moves the namespace with the platform.
func (l *laptop) move(cluster string) {
	l.t.Helper()
	out := l.program("yuba", "move", "--from", l.home, "--to", cluster, "-n", "default", "--yes", "-o", "json")
	var summary struct {
		Stacks []struct{ Name, Pass, Message string }
	}
	if err := json.Unmarshal([]byte(out), &summary); err != nil || len(summary.Stacks) != len(phases) {
		l.t.Fatalf("%v: %s", err, out)
	}
	for _, s := range summary.Stacks {
		if !strings.Contains(s.Pass, "nchanged") && !strings.Contains(s.Pass, "no changes") {
			l.t.Errorf("the first pass of %s in the cluster: %s %s", s.Name, s.Pass, s.Message)
		}
		l.t.Logf("    %s: %s", s.Name, s.Pass)
	}
}

// refuses checks that the home runs nothing of the platform, and names the owner.
func (l *laptop) refuses() {
	l.t.Helper()
	for _, args := range [][]string{{"bootstrap", "resume", "--home", l.home, "--timeout", "1m"}, {"replan", "acme-eu-machines", "--wait", "--timeout", "1m", "--data-dir", l.home}} {
		if out, err := l.run("yuba", args...); err == nil || !strings.Contains(out, "Moved to "+l.kubeconfig()) {
			l.t.Errorf("yuba %v: %v, says %s", args, err, out)
		}
	}
	status := l.program("yuba", "bootstrap", "status", "--home", l.home)
	for _, phase := range phases {
		if !strings.Contains(status, "→ eu/"+phase) {
			l.t.Errorf("the status does not say that %s is away:\n%s", phase, status)
		}
	}
	p := platformOf(l.t, l.program("yuba", "bootstrap", "status", "--home", l.home, "-o", "json"))
	if ready := conditions.Of(p, infrav1.ConditionReady); ready.Reason != yubav1.ReasonPlatformMoved {
		l.t.Errorf("the platform is %s: %s", ready.Reason, ready.Message)
	}
}

func platformOf(t *testing.T, text string) *yubav1.Platform {
	t.Helper()
	p := &yubav1.Platform{}
	if err := json.Unmarshal([]byte(text), p); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return p
}

// inCluster is Yuba in the cluster of the platform.
type inCluster struct {
	*laptop
	kubeconfig string
}

func (c *inCluster) yuba(args ...string) string {
	c.t.Helper()
	return c.program("yuba", append(args, "--kubeconfig", c.kubeconfig)...)
}

// ownsItself waits until the platform is ready.
func (c *inCluster) ownsItself() {
	c.t.Helper()
	c.yuba("bootstrap", "status", "acme", "--watch", "--timeout", "3m")
	p := platformOf(c.t, c.yuba("bootstrap", "status", "acme", "-o", "json"))
	if ready := conditions.Of(p, infrav1.ConditionReady); ready.Status != metav1.ConditionTrue || p.Status.Progress != "4/4" {
		c.t.Errorf("the platform is %s (%s): %s", ready.Reason, p.Status.Progress, ready.Message)
	}
}

// hasNoDrift plans each stack in a Pod of the cluster.
func (c *inCluster) hasNoDrift() {
	c.t.Helper()
	for _, phase := range phases {
		stack := "acme-eu-" + phase
		c.yuba("replan", stack, "--wait", "--timeout", "3m")
		var t infrav1.Terraform
		if err := json.Unmarshal([]byte(c.yuba("kubectl", "get", "terraform", stack, "-o", "json")), &t); err != nil {
			c.t.Fatal(err)
		}
		ready := conditions.Of(&t, infrav1.ConditionReady)
		if ready.Status != metav1.ConditionTrue || t.Status.LastDriftCheckAt == nil || t.Status.Plan.Pending != "" {
			c.t.Errorf("%s: %s %s; pending %q, drift checked at %v", stack, ready.Reason, ready.Message, t.Status.Plan.Pending, t.Status.LastDriftCheckAt)
		}
		c.t.Logf("    %s: %s %s", stack, ready.Reason, ready.Message)
	}
}

// isSealed archives the platform there, and verifies the archive without a server.
func (c *inCluster) isSealed() {
	c.t.Helper()
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		c.t.Fatal(err)
	}
	dir := c.t.TempDir()
	key, file := filepath.Join(dir, "key.txt"), filepath.Join(dir, "acme.archive")
	c.file(key, identity.String()+"\n")
	var written struct{ Signer string }
	out := c.yuba("archive", "platform/acme", "--to", file, "-r", identity.Recipient().String(), "--versions", "-o", "json")
	if err := json.Unmarshal([]byte(out), &written); err != nil || written.Signer == "" {
		c.t.Fatalf("%v: %s", err, out)
	}
	if out := c.program("yuba", "archive", "verify", file, "--signer", written.Signer, "-i", key); !strings.Contains(out, "intact and signed by "+written.Signer) {
		c.t.Errorf("verify says: %s", out)
	}
	show := c.program("yuba", "archive", "show", file, "-i", key)
	for _, phase := range phases {
		if !strings.Contains(show, "acme-eu-"+phase) {
			c.t.Errorf("the archive lacks %s: %s", phase, show)
		}
	}
}
