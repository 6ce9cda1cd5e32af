// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"strings"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/apis/meta"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/objects/engine"
)

// terraform is a manifest of a stack, which no controller in these tests runs.
func terraform(name string) string {
	return fmt.Sprintf("apiVersion: infra.contrib.fluxcd.io/v1alpha2\nkind: Terraform\nmetadata: {name: %s, namespace: NAMESPACE}\nspec:\n  interval: 1h\n  sourceRef: {kind: ExternalArtifact, name: none}\n---\n", name)
}

// stack waits until a stack exists.
func (w *world) stack(name string) {
	w.t.Helper()
	w.eventually("the stack "+name+" is there", func() bool {
		return w.c.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, &infrav1.Terraform{}) == nil
	})
}

// setTerraform sets the Ready condition of a stack.
func (w *world) setTerraform(name string, ready metav1.ConditionStatus) {
	w.t.Helper()
	w.stack(name)
	var s infrav1.Terraform
	w.must(w.c.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, &s))
	before := s.DeepCopy()
	s.Status.ObservedGeneration = s.Generation
	apimeta.SetStatusCondition(&s.Status.Conditions, metav1.Condition{Type: "Ready", Status: ready, Reason: "Test", Message: "said the test", ObservedGeneration: s.Generation})
	w.must(w.c.Status().Patch(w.t.Context(), &s, client.MergeFrom(before)))
}

func TestWhatWaitsIsReadyWhenItsObjectsAre(t *testing.T) {
	w := newWorld(t)
	w.publish("src", "main@sha1:1", map[string]string{"a.yaml": terraform("net") + configMap("one", "1")})
	w.kustomization("app", func(s *kustomizev1.KustomizationSpec) { s.Wait = true })
	w.eventually("it says what it waits for", func() bool {
		c := conditions.Of(w.get("app"), meta.ReconcilingCondition)
		return strings.Contains(c.Message, "Terraform/"+w.namespace+"/net status: 'InProgress'")
	})
	if k := w.get("app"); isReady(k) || k.Status.LastAppliedRevision != "" || conditions.Of(k, meta.HealthyCondition).Status != metav1.ConditionUnknown {
		t.Errorf("it is ready before its objects are:\n%s", w.describe())
	}
	w.setTerraform("net", metav1.ConditionTrue)
	k := w.ready("app", "main@sha1:1")
	if c := conditions.Of(k, meta.HealthyCondition); c.Status != metav1.ConditionTrue || c.Reason != "Succeeded" {
		t.Errorf("Healthy is %s %s", c.Status, c.Reason)
	}
	// Later failures are noticed, and recoveries, too.
	w.setTerraform("net", metav1.ConditionFalse)
	w.eventually("it is seen", func() bool {
		return conditions.Of(w.get("app"), meta.HealthyCondition).Status == metav1.ConditionUnknown
	})
	w.setTerraform("net", metav1.ConditionTrue)
	w.eventually("the recovery is seen", func() bool {
		return conditions.Of(w.get("app"), meta.HealthyCondition).Status == metav1.ConditionTrue
	})
	w.ready("app", "main@sha1:1")
}

func TestManyThatWaitKeepNoOtherWaiting(t *testing.T) {
	w := newWorld(t)
	for i := range 5 * workers {
		name := fmt.Sprintf("w%02d", i)
		w.publish(name, "main@sha1:1", map[string]string{"a.yaml": terraform(name)})
		w.kustomization(name, func(s *kustomizev1.KustomizationSpec) { s.Wait, s.SourceRef.Name = true, name })
	}
	w.publish("src", "main@sha1:1", map[string]string{"a.yaml": configMap("one", "1")})
	w.kustomization("last", func(s *kustomizev1.KustomizationSpec) { s.Wait = true })
	w.ready("last", "main@sha1:1")
}

func TestAHealthCheckThatFailsSaysSo(t *testing.T) {
	w := newWorld(t)
	w.publish("src", "main@sha1:1", map[string]string{"a.yaml": configMap("one", "broken") + configMap("two", "fine")})
	w.kustomization("app", func(s *kustomizev1.KustomizationSpec) {
		s.HealthChecks = []meta.NamespacedObjectKindReference{{APIVersion: "v1", Kind: "ConfigMap", Namespace: w.namespace, Name: "one"}}
		s.HealthCheckExprs = []kustomize.CustomHealthCheck{{APIVersion: "v1", Kind: "ConfigMap",
			HealthCheckExpressions: kustomize.HealthCheckExpressions{Current: "data.key == 'fine'", Failed: "data.key == 'broken'"}}}
	})
	message := w.failing("app", "HealthCheckFailed")
	if !strings.Contains(message, "failed early due to stalled resources: [ConfigMap/"+w.namespace+"/one status: 'Failed'") {
		t.Errorf("it says: %s", message)
	}
	w.publish("src", "main@sha1:2", map[string]string{"a.yaml": configMap("one", "fine")})
	w.ready("app", "main@sha1:2")
	w.update("app", func(k *kustomizev1.Kustomization) { k.Spec.HealthCheckExprs[0].Current = "data." })
	if message := w.failing("app", "InvalidCELExpression"); !strings.Contains(message, "healthCheckExprs[0]") {
		t.Errorf("it says: %s", message)
	}
	if conditions.Of(w.get("app"), meta.StalledCondition).Status != metav1.ConditionTrue {
		t.Error("a lasting failure is not stalled")
	}
}

func TestATimeoutOfAHealthCheck(t *testing.T) {
	w := newWorld(t)
	w.publish("src", "main@sha1:1", map[string]string{"a.yaml": terraform("net")})
	w.kustomization("app", func(s *kustomizev1.KustomizationSpec) { s.Wait = true })
	key := client.ObjectKey{Namespace: w.namespace, Name: "app"}
	w.eventually("it waits", func() bool { m := w.r.book.read(key); return m != nil && m.health.waiting })
	// Extend the recorded wait instead of waiting.
	m := *w.r.book.read(key)
	m.health.since = m.health.since.Add(-2 * time.Hour)
	w.r.book.keep(key, &m)
	w.pass("app")
	if message := w.failing("app", "HealthCheckFailed"); !strings.Contains(message, "timeout waiting for: [Terraform/"+w.namespace+"/net") {
		t.Errorf("it says: %s", message)
	}
	w.setTerraform("net", metav1.ConditionTrue)
	w.ready("app", "main@sha1:1")
}

// stall makes a stack stalled, as its controller would.
func (w *world) stall(name, why string) {
	w.t.Helper()
	w.stack(name)
	var s infrav1.Terraform
	w.must(w.c.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, &s))
	before := s.DeepCopy()
	s.Status.ObservedGeneration = s.Generation
	for kind, status := range map[string]metav1.ConditionStatus{"Ready": metav1.ConditionFalse, "Stalled": metav1.ConditionTrue} {
		apimeta.SetStatusCondition(&s.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: "Test", Message: why, ObservedGeneration: s.Generation})
	}
	w.must(w.c.Status().Patch(w.t.Context(), &s, client.MergeFrom(before)))
}

func (w *world) unstall(name string) {
	w.t.Helper()
	var s infrav1.Terraform
	w.must(w.c.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, &s))
	before := s.DeepCopy()
	apimeta.RemoveStatusCondition(&s.Status.Conditions, "Stalled")
	w.must(w.c.Status().Patch(w.t.Context(), &s, client.MergeFrom(before)))
	w.setTerraform(name, metav1.ConditionTrue)
	w.ready("app", "main@sha1:1")
}

func TestAFailedHealthCheckSaysWhatIsWrongNow(t *testing.T) {
	w := newWorld(t)
	w.publish("src", "main@sha1:1", map[string]string{"a.yaml": terraform("net")})
	w.kustomization("app", func(s *kustomizev1.KustomizationSpec) { s.Wait = true })
	for _, why := range []string{"a number is required", "it has neither a value nor a default"} {
		w.stall("net", why)
		w.eventually("it says "+why, func() bool {
			ready := conditions.Of(w.get("app"), meta.ReadyCondition)
			return ready.Reason == meta.HealthCheckFailedReason && strings.Contains(ready.Message, "failed early due to stalled resources: [Terraform/") &&
				strings.Contains(ready.Message, why)
		})
	}
	w.unstall("net")
	// Another revision of the stack is not judged by the previous condition.
	w.publish("src", "main@sha1:2", map[string]string{"a.yaml": strings.Replace(terraform("net"), "interval: 1h", "interval: 2h", 1)})
	w.eventually("it waits for the stack to be looked at", func() bool {
		k := w.get("app")
		return k.Status.LastAttemptedRevision == "main@sha1:2" && strings.Contains(conditions.Of(k, meta.ReconcilingCondition).Message, "latest observed generation is 1")
	})
}

func TestWhatWasAppliedIsNewerThanWhatWasHeardOfIt(t *testing.T) {
	live := &unstructured.Unstructured{}
	live.SetResourceVersion("7")
	if got := versionNow(&engine.Cluster{}, engine.ID{}, live); got != "7" {
		t.Errorf("its version is %q", got)
	}
	if got := versionNow(&engine.Cluster{}, engine.ID{}, nil); got != "" {
		t.Errorf("the version of an unwatched object is %q", got)
	}
}
