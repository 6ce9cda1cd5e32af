// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

// fleet is a registry with many rows, one template, and a Yuba that may be killed at any time.
type fleet struct {
	t         *testing.T
	y         *yuba
	namespace string
}

func newFleet(t *testing.T, rows int, template string) *fleet {
	t.Helper()
	y := alone(t)
	return fleetIn(t, y, y.namespace(t), rows, template)
}

// fleetIn is a fleet in a namespace of an existing server.
func fleetIn(t *testing.T, y *yuba, namespace string, rows int, template string) *fleet {
	t.Helper()
	f := &fleet{t: t, y: y, namespace: namespace}
	f.must(y.client.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: f.named("table"), Data: f.table(rows)}))
	f.must(y.client.Create(t.Context(), &tenantv1.TenantRegistry{ObjectMeta: f.named("customers"), Spec: tenantv1.TenantRegistrySpec{
		Source:        tenantv1.DataSource{Type: tenantv1.SourceConfigMap, SyncInterval: "1s", ConfigMap: &tenantv1.ConfigMapSource{Name: "table", Key: "rows.csv"}},
		ValueMappings: tenantv1.ValueMappings{UID: "id", Activate: "active"},
	}}))
	f.template(template)
	return f
}

func (f *fleet) named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: f.namespace, Name: name}
}

func (f *fleet) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fleet) table(rows int) map[string]string {
	text := "id,active\n"
	for i := range rows {
		text += fmt.Sprintf("t%03d,1\n", i)
	}
	return map[string]string{"rows.csv": text}
}

func (f *fleet) rows(n int) {
	f.t.Helper()
	f.must(f.y.client.Update(f.t.Context(), &corev1.ConfigMap{ObjectMeta: f.named("table"), Data: f.table(n)}))
}

// template creates or changes the template; text is its spec without registryId.
func (f *fleet) template(text string) {
	f.t.Helper()
	made := &tenantv1.TenantTemplate{ObjectMeta: f.named("web")}
	f.must(yaml.Unmarshal([]byte(text), &made.Spec))
	made.Spec.RegistryID = "customers"
	now := &tenantv1.TenantTemplate{}
	if err := f.y.client.Get(f.t.Context(), client.ObjectKeyFromObject(made), now); err != nil {
		f.must(client.IgnoreNotFound(err))
		f.must(f.y.client.Create(f.t.Context(), made))
		return
	}
	before := now.DeepCopy()
	now.Spec = made.Spec
	f.must(f.y.client.Patch(f.t.Context(), now, client.MergeFrom(before)))
}

// powerCut kills the server and starts it again.
func (f *fleet) powerCut() {
	f.t.Helper()
	f.y.kill()
	f.y.restart(f.t)
}

func (f *fleet) tenants() []tenantv1.Tenant {
	f.t.Helper()
	var list tenantv1.TenantList
	f.must(f.y.client.List(f.t.Context(), &list, client.InNamespace(f.namespace)))
	return list.Items
}

func (f *fleet) registry() *tenantv1.TenantRegistry {
	f.t.Helper()
	o := &tenantv1.TenantRegistry{ObjectMeta: f.named("customers")}
	f.must(f.y.client.Get(f.t.Context(), client.ObjectKeyFromObject(o), o))
	return o
}

func (f *fleet) eventually(sentence string, so func() bool) {
	f.t.Helper()
	for deadline := time.Now().Add(2 * patience); !so(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			f.t.Fatalf("%s: that did not come about\n%s", sentence, f.y.logTail())
		}
	}
}

// isReady reports whether the current generation of a tenant is ready.
func isReady(o *tenantv1.Tenant) bool {
	c := apimeta.FindStatusCondition(o.Status.Conditions, tenantv1.ConditionReady)
	return c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == o.Generation
}

// unready lists the tenants that are not ready, and counts those with a generation of the template.
func (f *fleet) unready(generation string) (unready []string, have int) {
	f.t.Helper()
	for _, o := range f.tenants() {
		if o.Annotations[tenantv1.AnnotationTemplateGeneration] == generation {
			have++
		}
		if !isReady(&o) {
			unready = append(unready, o.Spec.UID)
		}
	}
	return unready, have
}

// applied sets the status of a tenant's suspended stack, like its controller after an apply.
func (f *fleet) applied(uid string) {
	f.t.Helper()
	stack := &infrav1.Terraform{ObjectMeta: f.named(uid + "-infra")}
	f.must(f.y.client.Get(f.t.Context(), client.ObjectKeyFromObject(stack), stack))
	if c := apimeta.FindStatusCondition(stack.Status.Conditions, "Ready"); c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == stack.Generation {
		return
	}
	before := stack.DeepCopy()
	stack.Status.ObservedGeneration, stack.Status.LastAppliedRevision = stack.Generation, "inline@1"
	apimeta.SetStatusCondition(&stack.Status.Conditions, metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "TerraformAppliedSucceed",
		Message: "Applied", ObservedGeneration: stack.Generation})
	f.must(f.y.client.Status().Patch(f.t.Context(), stack, client.MergeFrom(before)))
}

const skewed = `
rollout: {maxSkew: 2}
manifests:
- id: infra
  nameTemplate: "{{ .uid }}-infra"
  spec:
    apiVersion: infra.contrib.fluxcd.io/v1alpha2
    kind: Terraform
    spec: {interval: 1h, suspend: true, inline: {main.tf: 'output "url" { value = "x" }'}}
configMaps:
- id: settings
  nameTemplate: "{{ .uid }}-settings"
  dependIds: [infra]
  spec: {data: {a: b}}
`

// Whenever the server dies, no more than maxSkew tenants are updated at the same time, and the
// change finally reaches all.
func TestARolloutSurvivesPowerCuts(t *testing.T) {
	const n, skew = 8, 2
	f := newFleet(t, n, skewed)
	f.eventually("all stacks are there", func() bool {
		var list infrav1.TerraformList
		f.must(f.y.client.List(t.Context(), &list, client.InNamespace(f.namespace)))
		return len(list.Items) == n
	})
	for i := range n {
		f.applied(fmt.Sprintf("t%03d", i))
	}
	f.eventually("all tenants are ready", func() bool { unready, have := f.unready("1"); return len(unready) == 0 && have == n })

	f.template(strings.ReplaceAll(skewed, "interval: 1h", "interval: 2h"))
	for cut := range n {
		if cut < 4 {
			// The first power cut comes when the rollout begins, the others between two waves.
			f.powerCut()
		}
		var unready []string
		var have int
		f.eventually("a wave is in progress, or all are updated", func() bool {
			if unready, have = f.unready("2"); len(unready) > skew {
				t.Fatalf("after %d power cuts %v are not ready at a time, and %d tenants have the change", cut, unready, have)
			}
			return len(unready) == skew || len(unready) > 0 && have == n || len(unready) == 0 && have == n
		})
		for _, uid := range unready {
			f.applied(uid)
		}
		if len(unready) == 0 {
			break
		}
	}
	f.eventually("the rollout is complete", func() bool {
		// The stack of a tenant that counted as not ready may have changed only after it was reported as
		// applied.
		unready, have := f.unready("2")
		if len(unready) > skew {
			t.Fatalf("%v are not ready at a time, and %d tenants have the change", unready, have)
		}
		for _, uid := range unready {
			f.applied(uid)
		}
		o := &tenantv1.TenantTemplate{ObjectMeta: f.named("web")}
		f.must(f.y.client.Get(t.Context(), client.ObjectKeyFromObject(o), o))
		return len(unready) == 0 && have == n && o.Status.Rollout != nil && o.Status.Rollout.Phase == tenantv1.RolloutComplete
	})
}

// A confirmed bulk deletion continues after a power cut without another confirmation. An
// unconfirmed one is still held.
func TestALargeDeletionSurvivesPowerCuts(t *testing.T) {
	const n, left = 120, 10
	f := newFleet(t, n, "configMaps:\n- id: settings\n  nameTemplate: \"{{ .uid }}-settings\"\n  spec: {data: {a: b}}\n")
	f.eventually("all tenants are ready", func() bool { unready, have := f.unready("1"); return len(unready) == 0 && have == n })
	f.rows(left)
	var held *tenantv1.HeldDeletion
	f.eventually("the deletion is held", func() bool { held = f.registry().Status.Held; return held != nil && held.Count == n-left })

	f.powerCut()
	f.eventually("the rows were read again", func() bool {
		c := apimeta.FindStatusCondition(f.registry().Status.Conditions, tenantv1.ConditionHeld)
		return c != nil && c.Status == metav1.ConditionTrue
	})
	if now := f.registry().Status.Held; now == nil || now.ID != held.ID || len(f.tenants()) != n {
		t.Fatalf("after the power cut %d tenants are left, and %+v is held, not %+v", len(f.tenants()), now, held)
	}
	registry := f.registry()
	before := registry.DeepCopy()
	registry.Annotations = map[string]string{tenantv1.AnnotationConfirmDeletion: held.ID}
	f.must(f.y.client.Patch(t.Context(), registry, client.MergeFrom(before)))
	f.eventually("it continues", func() bool {
		for _, o := range f.tenants() {
			if o.DeletionTimestamp != nil {
				return true
			}
		}
		return len(f.tenants()) < n
	})
	f.powerCut()
	f.eventually("all are gone", func() bool { return len(f.tenants()) == left })
	f.eventually("nothing is held any more", func() bool { return f.registry().Status.Held == nil })
}
