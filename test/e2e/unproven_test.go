// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/test/cloud"
)

// loseEverything kills server, runner and tofu, deletes the runner's files, and restarts.
func (y *yuba) loseEverything(t *testing.T) {
	t.Helper()
	y.kill()
	for _, pid := range y.processes("") {
		syscall.Kill(pid, syscall.SIGKILL) //nolint:errcheck // it may be gone already
	}
	for _, lost := range []string{filepath.Join("runner", "runs"), filepath.Join("runner", "live"), "work"} {
		if err := os.RemoveAll(filepath.Join(y.dir, lost)); err != nil {
			t.Fatal(err)
		}
	}
	y.restart(t)
}

// listed is the list in the status, one resource per line.
func listed(o *infrav1.Terraform) string {
	if o.Status.Unproven == nil {
		return ""
	}
	var lines []string
	for _, r := range o.Status.Unproven.Resources {
		lines = append(lines, fmt.Sprintf("%s %s (%s): %s", r.Type, r.Address, r.Object, r.Doubt))
	}
	return strings.Join(lines, "\n")
}

// midApply begins an apply that has created a and waits for the response about b.
func midApply(t *testing.T, y *yuba, c *cloud.Cloud, begin func()) {
	t.Helper()
	gate := c.Hold("PUT", "b")
	begin()
	<-gate.Reached()
	if err := c.AwaitCount(t.Context(), "PUT", "a", 1); err != nil {
		t.Fatal(err)
	}
	y.loseEverything(t)
	gate.Release()
}

const unprovenProgram = `
variable "more" {
  type    = bool
  default = true
}
resource "yubatest_object" "a" {
  name    = "a"
  content = "1"
}
resource "yubatest_object" "b" {
  depends_on = [yubatest_object.a]
  name       = "b"
  content    = "1"
}
`

// The runner's evidence is lost: Yuba lists the resources in the plan, until the state has them or
// a person acknowledges them.
func TestWhatMayExistIsListedUntilItIsProvenOrAcknowledged(t *testing.T) {
	t.Parallel()
	y := alone(t, "--provider-mirror", providerMirror())
	ns := y.namespace(t)
	c, in := cloudy(t, y, ns)
	obj := inline(ns, "listed", providerHCL+unprovenProgram, in)
	y.create(t, obj)
	y.await(t, obj, "a plan waits", waiting)
	midApply(t, y, c, func() { approve(t, y, obj) })

	seen := y.await(t, obj, "it lists what may exist", func(o *infrav1.Terraform) bool {
		return condition(o, infrav1.ConditionUnproven).Status == metav1.ConditionTrue && waiting(o)
	})
	want := `yubatest_object yubatest_object.a (name "a"): may exist, and no state has it` + "\n" +
		`yubatest_object yubatest_object.b (name "b"): may exist, and no state has it`
	if got := listed(seen); got != want {
		t.Errorf("listed:\n%s\nwant:\n%s", got, want)
	}
	run := seen.Status.Unproven.Runs[0].ID
	cond := condition(seen, infrav1.ConditionUnproven)
	if cond.Reason != infrav1.ReasonApplyCutOff || !strings.HasPrefix(cond.Message, "2 resources may exist, or be gone, without any state proving it: yubatest_object.a, yubatest_object.b. See `yuba status listed -n "+ns) {
		t.Errorf("%+v", cond)
	}
	y.awaitEvent(t, obj, "ApplyCutOff: "+cond.Message)
	for _, show := range [][]string{{"status", "listed", "-n", ns}, {"logs", "listed", "-n", ns, "--run", run}, {"runs", "listed", "-n", ns, "-o", "json"}} {
		out, news, code := y.run(t, show...)
		if code != 0 || !strings.Contains(out, "yubatest_object.b") || show[0] != "runs" && !strings.Contains(out, `yubatest_object.b (name "b"): may exist, and no state has it`) {
			t.Errorf("yuba %s: %d %s\n%s", strings.Join(show, " "), code, news, out)
		}
	}

	// An imported resource is proven.
	if out, news, code := y.run(t, "state", "import", "listed", "yubatest_object.a", "a", "-n", ns, "--yes"); code != 0 {
		t.Fatalf("import: %d %s %s", code, out, news)
	}
	y.await(t, obj, "only b is left", func(o *infrav1.Terraform) bool {
		return len(listed(o)) > 0 && !strings.Contains(listed(o), "yubatest_object.a")
	})
	// A resource that was created again is not: there may be two.
	y.await(t, obj, "a plan waits", func(o *infrav1.Terraform) bool {
		return waiting(o) && o.Status.Plan.Summary == "+1 ~0 -0"
	})
	approve(t, y, obj)
	seen = y.await(t, obj, "b is made once more", ready)
	if r := seen.Status.Unproven.Resources[0]; r.Address != "yubatest_object.b" || r.RemadeBy != seen.Status.LastAppliedRun || !strings.Contains(r.Doubt, "created it again") {
		t.Errorf("%+v", r)
	}
	// Yuba refuses other addresses, and those that nobody has seen, and accepts the right one.
	if out, _, _ := y.run(t, "status", "listed", "-n", ns); !strings.Contains(out, "yuba acknowledge "+ns+"/listed --run "+run) {
		t.Errorf("the status does not tell how to acknowledge what it lists:\n%s", out)
	}
	if _, news, code := y.run(t, "acknowledge", "listed", "-n", ns); code != 2 || !strings.Contains(news, `yubatest_object.b (name "b"): may exist`) || !strings.Contains(news, "--yes") {
		t.Errorf("without a terminal, --yes or --run: %d %s", code, news)
	}
	if _, news, code := y.run(t, "acknowledge", "listed", "yubatest_object.z", "-n", ns); code != 3 || !strings.Contains(news, "yubatest_object.z is not listed") {
		t.Errorf("an address that is not listed: %d %s", code, news)
	}
	if _, news, code := y.run(t, "acknowledge", "listed", "yubatest_object.b", "--run", run, "-n", ns); code != 0 || !strings.Contains(news, "Acknowledged of "+ns+"/listed: yubatest_object.b") {
		t.Errorf("acknowledge: %d %s", code, news)
	}
	y.await(t, obj, "nothing is listed", func(o *infrav1.Terraform) bool {
		return o.Status.Unproven == nil && condition(o, infrav1.ConditionUnproven).Type == "" && ready(o)
	})
	if _, news, code := y.run(t, "acknowledge", "listed", "-n", ns); code != 3 || !strings.Contains(news, "no resource is unproven") {
		t.Errorf("once more: %d %s", code, news)
	}
}

// An automatic first apply plans and applies in one process. Yuba lists what it began, even if its
// log is lost.
func TestWhatMayExistOfAFirstApplyIsListed(t *testing.T) {
	t.Parallel()
	y := alone(t, "--provider-mirror", providerMirror())
	ns := y.namespace(t)
	c, in := cloudy(t, y, ns)
	obj := inline(ns, "first", providerHCL+unprovenProgram, in, auto)
	midApply(t, y, c, func() { y.create(t, obj) })
	seen := y.await(t, obj, "it is ready, and lists what may exist", func(o *infrav1.Terraform) bool { return ready(o) && o.Status.Unproven != nil })
	if got := listed(seen); !strings.Contains(got, "yubatest_object.a") || !strings.Contains(got, "yubatest_object.b") {
		t.Errorf("listed:\n%s", got)
	}
	// As with kubectl: everything listed up to that run.
	change(t, y, obj, func(o *infrav1.Terraform) {
		o.Annotations = map[string]string{infrav1.AnnotationAcknowledged: seen.Status.Unproven.Runs[len(seen.Status.Unproven.Runs)-1].ID}
	})
	y.await(t, obj, "nothing is listed", func(o *infrav1.Terraform) bool { return o.Status.Unproven == nil && ready(o) })
}

// Only tofu can read a state in a custom backend, so tofu provides the proof.
func TestWhatMayExistInABackendOfOnesOwnIsProvenByTheTool(t *testing.T) {
	t.Parallel()
	y := alone(t, "--provider-mirror", providerMirror())
	ns := y.namespace(t)
	c, in := cloudy(t, y, ns)
	obj := inline(ns, "own", providerHCL+unprovenProgram, in, auto, func(o *infrav1.Terraform) {
		address := c.StateAddress("own")
		o.Spec.BackendConfig = &infrav1.BackendConfigSpec{CustomConfiguration: fmt.Sprintf("backend \"http\" {\n  address = %q\n}", address)}
		o.Spec.Env = append(o.Spec.Env, fromSecret("TF_HTTP_PASSWORD", "cloud", "token"))
		o.Spec.Env = append(o.Spec.Env, corev1.EnvVar{Name: "TF_HTTP_USERNAME", Value: "yuba"})
	})
	midApply(t, y, c, func() { y.create(t, obj) })
	seen := y.await(t, obj, "it is ready, and lists what may exist", func(o *infrav1.Terraform) bool { return ready(o) && o.Status.Unproven != nil })
	for _, r := range seen.Status.Unproven.Resources {
		if r.RemadeBy == "" {
			t.Errorf("%+v was made once more, and that is not said", r)
		}
	}
}
