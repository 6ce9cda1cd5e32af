// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

const tenantYAML = `
metadata: {name: KINDs}
spec:
  application:
    kind: KIND
    plural: KINDs
    singular: KIND
    openAPISchema: |
      {"title":"Chart Values","type":"object","properties":{
        "host":{"type":"string","default":""},"etcd":{"type":"boolean","default":false},"ingress":{"type":"boolean","default":false},
        "schedulingClass":{"type":"string","default":""},
        "resourceQuotas":{"type":"object","default":{},"additionalProperties":{"anyOf":[{"type":"integer"},{"type":"string"}],"x-kubernetes-int-or-string":true}}}}
  backend:
    type: Tenant
    tenant: {prefix: KIND-, labels: {team: platform}}
`

const stacks = "count/terraforms.infra.contrib.fluxcd.io"

// estate is a world with a kind of tenants, whose tree begins in its namespace.
type estate struct {
	*world
	kind string
}

// newEstate defines a kind of tenants and makes its root.
func newEstate(t *testing.T, kind string) *estate {
	t.Helper()
	w := newWorld(t)
	e := &estate{w, kind}
	w.namespace = e.root()
	if err := w.Create(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.root()}}); err != nil {
		t.Fatal(err)
	}
	w.awaitDefinition(w.define(kind, tenantYAML), appv1.ReasonServed)
	return e
}

func (e *estate) root() string { return e.space("root") }

// space is the namespace of a tenant: of a path such as foo-bar.
func (e *estate) space(path string) string { return strings.ToLower(e.kind) + "-" + path }

// at does something with the instances in another namespace.
func (e *estate) at(namespace string) *world {
	w := *e.world
	w.namespace = namespace
	return &w
}

// tenant makes a tenant and waits until it has a phase. It returns the message.
func (e *estate) tenant(parent, name, phase string, spec map[string]any) string {
	e.Helper()
	w := e.at(parent)
	w.make(e.kind, name, spec)
	_, message := w.await(e.kind, name, phase)
	return message
}

// ask changes the spec of a tenant.
func (e *estate) ask(parent, name, patch string) {
	e.Helper()
	if _, err := e.at(parent).resource(e.kind).Patch(context.Background(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		e.Fatal(err)
	}
}

func limit(n int) map[string]any {
	return map[string]any{"resourceQuotas": map[string]any{stacks: int64(n)}}
}

// values are what charts in a namespace read.
func (e *estate) values(namespace string) (values map[string]map[string]any) {
	e.Helper()
	secret := &corev1.Secret{}
	if err := e.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: "cozystack-values"}, secret); err != nil {
		e.Fatal(err)
	}
	if err := yaml.Unmarshal(secret.Data["values.yaml"], &values); err != nil {
		e.Fatal(err)
	}
	return values
}

// hard waits until the quota of a namespace limits stacks to a number.
func (e *estate) hard(namespace string, want int64) {
	e.Helper()
	e.until(fmt.Sprintf("%s may have %d stacks", namespace, want), func() (bool, string) {
		quota := &corev1.ResourceQuota{}
		if err := e.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: "tenant-quota"}, quota); err != nil {
			return false, err.Error()
		}
		spec, counted := quota.Spec.Hard[stacks], quota.Status.Hard[stacks]
		_, used := quota.Status.Used[stacks]
		return used && spec.Value() == want && counted.Value() == want, fmt.Sprint(quota.Spec.Hard, quota.Status)
	})
}

func TestTenantsAreATreeOfNamespaces(t *testing.T) {
	e := newEstate(t, "Estate")
	platform := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: e.root(), Name: "cozystack-values"},
		StringData: map[string]string{"values.yaml": "_cluster: {region: eu, replicas: 3}\n_namespace: {host: example.org, etcd: estate-root, monitoring: estate-root}\n"}}
	if err := e.Create(context.Background(), platform); err != nil {
		t.Fatal(err)
	}
	foo, bar, baz := e.space("foo"), e.space("foo-bar"), e.space("foo-bar-baz")
	e.tenant(e.root(), "foo", appv1.PhaseReady, map[string]any{"etcd": true})
	e.tenant(foo, "bar", appv1.PhaseReady, map[string]any{"ingress": true})
	e.tenant(bar, "baz", appv1.PhaseReady, nil)
	if s, _ := e.at(bar).await(e.kind, "baz", appv1.PhaseReady); s.Namespace != baz || s.BackendRef == nil || s.BackendRef.Kind != "Namespace" || s.BackendRef.Name != baz {
		t.Errorf("the status is %+v", s)
	}
	namespace := &corev1.Namespace{}
	if err := e.Get(context.Background(), client.ObjectKey{Name: baz}, namespace); err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{"kubernetes.io/metadata.name": baz, "team": "platform",
		"apps.cozystack.io/application.kind": "Estate", "apps.cozystack.io/application.group": "apps.cozystack.io", "apps.cozystack.io/application.name": "baz",
		"apps.cozystack.io/application.namespace": bar,
		"tenant.cozystack.io/estate-root":         "", "tenant.cozystack.io/estate-foo": "", "tenant.cozystack.io/estate-foo-bar": "", "tenant.cozystack.io/estate-foo-bar-baz": "",
		"namespace.cozystack.io/host": "baz.bar.foo.example.org", "namespace.cozystack.io/etcd": foo, "namespace.cozystack.io/ingress": bar,
		"namespace.cozystack.io/monitoring": e.root(), "namespace.cozystack.io/gateway": "", "namespace.cozystack.io/seaweedfs": ""}
	if diff := cmp.Diff(labels, namespace.Labels); diff != "" {
		t.Errorf("the labels (-want +got):\n%s", diff)
	}
	values := map[string]map[string]any{"_cluster": {"region": "eu", "replicas": 3.0},
		"_namespace": {"host": "baz.bar.foo.example.org", "etcd": foo, "ingress": bar, "monitoring": e.root(), "gateway": "", "seaweedfs": ""}}
	if diff := cmp.Diff(values, e.values(baz)); diff != "" {
		t.Errorf("the values (-want +got):\n%s", diff)
	}
	plain := &corev1.ConfigMap{}
	if err := e.Get(context.Background(), client.ObjectKey{Namespace: baz, Name: "cozystack-values"}, plain); err != nil || plain.Data["host"] != "baz.bar.foo.example.org" || plain.Data["ingress"] != bar {
		t.Errorf("the values for stacks are %v, error %v", plain.Data, err)
	}
	// What is above changes.
	e.ask(e.root(), "foo", `{"spec":{"host":"foo.io","etcd":false,"schedulingClass":"fast"}}`)
	platform.StringData = map[string]string{"values.yaml": "_cluster: {region: us}\n_namespace: {host: example.org, etcd: estate-root}\n"}
	if err := e.Update(context.Background(), platform); err != nil {
		t.Fatal(err)
	}
	e.until("the values reach the grandchild", func() (bool, string) {
		is := e.values(baz)
		return is["_namespace"]["host"] == "baz.bar.foo.io" && is["_namespace"]["etcd"] == e.root() && is["_namespace"]["monitoring"] == "" &&
			is["_namespace"]["schedulingClass"] == "fast" && is["_cluster"]["region"] == "us", fmt.Sprint(is)
	})
	if text := fmt.Sprint(e.values(e.root())); !strings.Contains(text, "us") {
		t.Errorf("the platform's own values are %s", text)
	}
}

func TestTheRootIsDescribedByATenant(t *testing.T) {
	e := newEstate(t, "Crown")
	e.tenant(e.root(), "root", appv1.PhaseReady, map[string]any{"host": "example.org", "ingress": true, "resourceQuotas": map[string]any{stacks: int64(10)}})
	e.hard(e.root(), 10)
	e.tenant(e.root(), "foo", appv1.PhaseReady, limit(4))
	e.hard(e.root(), 6)
	if is := e.values(e.space("foo"))["_namespace"]; is["host"] != "foo.example.org" || is["ingress"] != e.root() {
		t.Errorf("the values are %v", is)
	}
	// Its deletion leaves the root.
	if err := e.resource(e.kind).Delete(context.Background(), "root", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	e.until("it is gone", func() (bool, string) {
		_, err := e.resource(e.kind).Get(context.Background(), "root", metav1.GetOptions{})
		return apierrors.IsNotFound(err), fmt.Sprint(err)
	})
	namespace := &corev1.Namespace{}
	if err := e.Get(context.Background(), client.ObjectKey{Name: e.root()}, namespace); err != nil || namespace.DeletionTimestamp != nil {
		t.Errorf("the root is %+v, error %v", namespace.ObjectMeta, err)
	}
}

func TestQuotasOfATree(t *testing.T) {
	e := newEstate(t, "Budget")
	foo, bar := e.space("foo"), e.space("foo-bar")
	e.tenant(e.root(), "foo", appv1.PhaseReady, limit(10))
	e.hard(foo, 10)
	e.tenant(foo, "bar", appv1.PhaseReady, limit(6))
	e.hard(bar, 6)
	e.hard(foo, 4)
	stack := func(namespace, name string) error {
		return e.Create(context.Background(), &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			Spec: infrav1.TerraformSpec{Interval: metav1.Duration{Duration: patience}, Inline: map[string]string{"main.tf": ""}}})
	}
	for i := range 3 {
		if err := stack(foo, fmt.Sprint("own-", i)); err != nil {
			t.Fatal(err)
		}
	}
	if message := e.tenant(foo, "baz", appv1.PhaseFailed, limit(6)); !strings.Contains(message, "6 of "+stacks+" are too many") || !strings.Contains(message, "have 6 (bar 6)") {
		t.Errorf("the message is %q", message)
	}
	if message := e.tenant(foo, "loose", appv1.PhaseFailed, nil); !strings.Contains(message, "Set "+stacks) && !strings.Contains(message, "set "+stacks) {
		t.Errorf("the message is %q", message)
	}
	// What the parent uses cannot be promised to others. Its quota is lowered before the child has anything.
	e.ask(foo, "baz", `{"spec":{"resourceQuotas":{"`+stacks+`":2}}}`)
	e.until("the message says what foo uses", func() (bool, string) {
		_, s := e.at(foo).status(e.kind, "baz")
		return len(s.Conditions) > 0 && strings.Contains(s.Conditions[len(s.Conditions)-1].Message+s.Conditions[0].Message, "it uses 3 itself") &&
			strings.Contains(fmt.Sprint(s.Conditions), "1 are left"), fmt.Sprint(s.Conditions)
	})
	// Somebody who deletes stacks makes room.
	for i := range 2 {
		if err := e.Delete(context.Background(), &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: foo, Name: fmt.Sprint("own-", i)}}); err != nil {
			t.Fatal(err)
		}
	}
	e.at(foo).await(e.kind, "baz", appv1.PhaseReady)
	e.hard(foo, 2)
	if err := stack(foo, "second"); err != nil {
		t.Error(err)
	}
	if err := stack(foo, "third"); !apierrors.IsForbidden(err) {
		t.Errorf("a third stack: %v", err)
	}
	// A quota that others have cannot be taken back; they keep what they have.
	e.ask(e.root(), "foo", `{"spec":{"resourceQuotas":{"`+stacks+`":7}}}`)
	if _, message := e.await(e.kind, "foo", appv1.PhaseFailed); !strings.Contains(message, "7 of "+stacks+" are too few: its tenants have 8 (bar 6, baz 2)") {
		t.Errorf("the message is %q", message)
	}
	e.hard(bar, 6)
	// A tenant that goes gives back what it had, also while its parent asks for too little.
	if err := e.at(foo).resource(e.kind).Delete(context.Background(), "bar", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	e.await(e.kind, "foo", appv1.PhaseReady)
	e.hard(foo, 5)
	e.ask(e.root(), "foo", `{"spec":{"resourceQuotas":null}}`)
	e.until("the quota is gone", func() (bool, string) {
		err := e.Get(context.Background(), client.ObjectKey{Namespace: foo, Name: "tenant-quota"}, &corev1.ResourceQuota{})
		return apierrors.IsNotFound(err), fmt.Sprint(err)
	})
}

func TestForeignNamespacesAreNeverTaken(t *testing.T) {
	e := newEstate(t, "Squat")
	foreign := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.space("foo"), Labels: map[string]string{"owner": "somebody"}}}
	if err := e.Create(context.Background(), foreign); err != nil {
		t.Fatal(err)
	}
	if message := e.tenant(e.root(), "foo", appv1.PhaseFailed, nil); !strings.Contains(message, e.space("foo")+" belongs to somebody else") {
		t.Errorf("the message is %q", message)
	}
	now := &corev1.Namespace{}
	if err := e.Get(context.Background(), client.ObjectKeyFromObject(foreign), now); err != nil || now.ResourceVersion != foreign.ResourceVersion {
		t.Errorf("the namespace was changed: %+v, %v", now, err)
	}
	if message := e.tenant("default", "foo", appv1.PhaseFailed, nil); !strings.Contains(message, "default is not a tenant's") {
		t.Errorf("the message is %q", message)
	}
	if message := e.tenant(e.root(), "super", appv1.PhaseFailed, nil); !strings.Contains(message, "cannot be called super") {
		t.Errorf("the message is %q", message)
	}
	long := strings.Repeat("x", 30)
	e.tenant(e.root(), long, appv1.PhaseReady, nil)
	if message := e.tenant(e.space(long), long, appv1.PhaseFailed, nil); !strings.Contains(message, "67 characters, and at most 63 are allowed") {
		t.Errorf("the message is %q", message)
	}
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetGroupVersionKind(appv1.InstanceVersion.WithKind(e.kind))
	o.SetName("a-b")
	if _, err := e.resource(e.kind).Create(context.Background(), o, metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("a name with a dash: %v", err)
	}
	// Whoever deletes the foreign namespace gives its name away.
	if err := e.Delete(context.Background(), now); err != nil {
		t.Fatal(err)
	}
	e.until("it is gone", func() (bool, string) {
		err := e.Get(context.Background(), client.ObjectKeyFromObject(foreign), now)
		return apierrors.IsNotFound(err), fmt.Sprint(err)
	})
	e.ask(e.root(), "foo", `{"metadata":{"annotations":{"reconcile.fluxcd.io/requestedAt":"now"}}}`)
	e.await(e.kind, "foo", appv1.PhaseReady)
}

func TestATenantGoesLast(t *testing.T) {
	e := newEstate(t, "Home")
	foo, bar := e.space("foo"), e.space("foo-bar")
	e.tenant(e.root(), "foo", appv1.PhaseReady, nil)
	e.tenant(foo, "bar", appv1.PhaseReady, nil)
	if err := e.Create(context.Background(), &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: foo, Name: "network"},
		Spec: infrav1.TerraformSpec{Interval: metav1.Duration{Duration: patience}, Inline: map[string]string{"main.tf": ""}}}); err != nil {
		t.Fatal(err)
	}
	remove := func(w *world, name string) {
		t.Helper()
		if err := w.resource(e.kind).Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	remove(e.world, "foo")
	_, message := e.await(e.kind, "foo", appv1.PhaseDeleting)
	e.until("the message names what is there", func() (bool, string) {
		_, message = e.await(e.kind, "foo", appv1.PhaseDeleting)
		return strings.Contains(message, "The namespace "+foo+" has Home bar, Terraform network"), message
	})
	if message := e.tenant(foo, "late", appv1.PhaseFailed, nil); !strings.Contains(message, "is being deleted") {
		t.Errorf("the message is %q", message)
	}
	remove(e.at(foo), "late")
	remove(e.at(foo), "bar")
	namespace := &corev1.Namespace{}
	e.until("the child's namespace is gone", func() (bool, string) {
		err := e.Get(context.Background(), client.ObjectKey{Name: bar}, namespace)
		return apierrors.IsNotFound(err), fmt.Sprint(err)
	})
	if err := e.Get(context.Background(), client.ObjectKey{Name: foo}, namespace); err != nil || namespace.DeletionTimestamp != nil {
		t.Errorf("the namespace with a stack is %+v, error %v", namespace.ObjectMeta, err)
	}
	if err := e.Delete(context.Background(), &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: foo, Name: "network"}}); err != nil {
		t.Fatal(err)
	}
	e.until("the tenant and its namespace are gone", func() (bool, string) {
		_, err := e.resource(e.kind).Get(context.Background(), "foo", metav1.GetOptions{})
		gone := e.Get(context.Background(), client.ObjectKey{Name: foo}, namespace)
		return apierrors.IsNotFound(err) && apierrors.IsNotFound(gone), fmt.Sprint(err, gone)
	})
}

func TestAnAbandonedTenantLeavesItsNamespace(t *testing.T) {
	e := newEstate(t, "Ruin")
	foo := e.space("foo")
	e.tenant(e.root(), "foo", appv1.PhaseReady, limit(5))
	e.tenant(foo, "bar", appv1.PhaseReady, limit(2))
	o, _ := e.status(e.kind, "foo")
	e.ask(e.root(), "foo", fmt.Sprintf(`{"metadata":{"annotations":{"apps.cozystack.io/abandon":%q}}}`, o.GetUID()))
	if err := e.resource(e.kind).Delete(context.Background(), "foo", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	e.until("the tenant is gone", func() (bool, string) {
		_, err := e.resource(e.kind).Get(context.Background(), "foo", metav1.GetOptions{})
		return apierrors.IsNotFound(err), fmt.Sprint(err)
	})
	e.hard(foo, 3)
	e.at(foo).await(e.kind, "bar", appv1.PhaseReady)
	// A tenant of the same name takes it back, with what its children have.
	if message := e.tenant(e.root(), "foo", appv1.PhaseFailed, limit(1)); !strings.Contains(message, "bar 2") {
		t.Errorf("the message is %q", message)
	}
	e.ask(e.root(), "foo", `{"spec":{"resourceQuotas":{"`+stacks+`":8}}}`)
	e.await(e.kind, "foo", appv1.PhaseReady)
	e.hard(foo, 6)
}

// TestAnAbandonedTenantIsCounted: who may create a number of tenants has no more namespaces by abandoning them.
func TestAnAbandonedTenantIsCounted(t *testing.T) {
	e := newEstate(t, "Decoy")
	foo, number := e.space("foo"), "count/decoys.apps.cozystack.io"
	quota := func(n int64) map[string]any { return map[string]any{"resourceQuotas": map[string]any{number: n}} }
	e.tenant(e.root(), "foo", appv1.PhaseReady, quota(1))
	// The API counts the objects of a new kind some minutes later: the test does it instead.
	counted := func(used string) {
		t.Helper()
		e.until("tenants are counted", func() (bool, string) {
			is := &corev1.ResourceQuota{}
			if err := e.Get(context.Background(), client.ObjectKey{Namespace: foo, Name: "tenant-quota"}, is); err != nil {
				return false, err.Error()
			}
			is.Status.Hard, is.Status.Used = is.Spec.Hard, corev1.ResourceList{corev1.ResourceName(number): resource.MustParse(used)}
			err := e.Status().Update(context.Background(), is)
			return err == nil, fmt.Sprint(err)
		})
	}
	counted("0")
	e.tenant(foo, "a", appv1.PhaseReady, quota(0))
	o, _ := e.at(foo).status(e.kind, "a")
	e.ask(foo, "a", fmt.Sprintf(`{"metadata":{"annotations":{"apps.cozystack.io/abandon":%q}}}`, o.GetUID()))
	if err := e.at(foo).resource(e.kind).Delete(context.Background(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	e.at(foo).gone(e.kind, "a")
	counted("0")
	e.at(foo).make(e.kind, "b", quota(0))
	if _, message := e.at(foo).await(e.kind, "b", appv1.PhaseFailed); !strings.Contains(message, "oo many tenants in "+foo) {
		t.Errorf("the message is %q", message)
	}
	if err := e.Delete(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.space("foo-a")}}); err != nil {
		t.Fatal(err)
	}
	e.at(foo).await(e.kind, "b", appv1.PhaseReady)
}
