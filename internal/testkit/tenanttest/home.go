// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tenanttest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

// EnvPrefix begins the names of the environment variables that configure test/provider. Homes pass
// them to stacks of templates.
const EnvPrefix = "YUBATEST_"

// Patience limits steps that take a second or two on an idle machine.
const Patience = 90 * time.Second

// Home is a running Yuba and a namespace.
type Home struct {
	// Client knows the kinds of tenants and stacks.
	Client    client.Client
	Namespace string
	// Kubeconfig is for commands.
	Kubeconfig string
	// Log is the end of the server's log, for failures.
	Log func() string
}

// Apply creates the objects of manifests in the home's namespace.
func (h *Home) Apply(t *testing.T, manifests string) {
	t.Helper()
	for _, manifest := range strings.Split(manifests, "\n---\n") {
		if err := h.Client.Create(t.Context(), h.object(t, manifest)); err != nil {
			t.Fatalf("create: %v\n%s", err, manifest)
		}
	}
}

// Refused creates an object that the API must refuse, and returns the error.
func (h *Home) Refused(t *testing.T, manifest string) string {
	t.Helper()
	err := h.Client.Create(t.Context(), h.object(t, manifest))
	if err == nil {
		t.Fatalf("the API accepted this:\n%s", manifest)
	}
	return err.Error()
}

func (h *Home) object(t *testing.T, manifest string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), &o.Object); err != nil {
		t.Fatalf("%v in\n%s", err, manifest)
	}
	o.SetNamespace(h.Namespace)
	return o
}

// Eventually polls until wrong returns nothing; the sentence describes the expected state.
func (h *Home) Eventually(t *testing.T, sentence string, wrong func() string) {
	t.Helper()
	said := ""
	for deadline := time.Now().Add(Patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if said = wrong(); said == "" {
			return
		}
	}
	t.Fatalf("timed out waiting until %s: %s\nTenants:\n%s\nServer:\n%s", sentence, said, h.everything(t), h.Log())
}

// everything is the state of all tenant kinds, for failures.
func (h *Home) everything(t *testing.T) string {
	var b strings.Builder
	for _, o := range h.Tenants(t) {
		status, _ := json.Marshal(o.Status) //nolint:errcheck // it is JSON
		fmt.Fprintf(&b, "tenant %s: %s\n", o.Name, status)
	}
	var registries tenantv1.TenantRegistryList
	var templates tenantv1.TenantTemplateList
	for _, list := range []client.ObjectList{&registries, &templates} {
		if err := h.Client.List(t.Context(), list, client.InNamespace(h.Namespace)); err != nil {
			fmt.Fprintln(&b, err)
		}
	}
	for _, o := range registries.Items {
		status, _ := json.Marshal(o.Status) //nolint:errcheck // it is JSON
		fmt.Fprintf(&b, "registry %s: %s\n", o.Name, status)
	}
	for _, o := range templates.Items {
		status, _ := json.Marshal(o.Status) //nolint:errcheck // it is JSON
		fmt.Fprintf(&b, "template %s: %s\n", o.Name, status)
	}
	return b.String()
}

// Tenants lists the tenants.
func (h *Home) Tenants(t *testing.T) []tenantv1.Tenant {
	t.Helper()
	var list tenantv1.TenantList
	if err := h.Client.List(t.Context(), &list, client.InNamespace(h.Namespace)); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// Names are the names of the tenants, in the API's order.
func (h *Home) Names(t *testing.T) []string {
	t.Helper()
	names := []string{}
	for _, o := range h.Tenants(t) {
		names = append(names, o.Name)
	}
	return names
}

// Get reads an existing object.
func (h *Home) Get(t *testing.T, name string, into client.Object) {
	t.Helper()
	if err := h.Client.Get(t.Context(), h.key(name), into); err != nil {
		t.Fatal(err)
	}
}

func (h *Home) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: h.Namespace, Name: name}
}

// Missing reports whether no object of that name and type exists.
func (h *Home) Missing(t *testing.T, name string, of client.Object) bool {
	t.Helper()
	err := h.Client.Get(t.Context(), h.key(name), of)
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return err != nil
}

// AwaitGone waits until an object does not exist.
func (h *Home) AwaitGone(t *testing.T, name string, of client.Object) {
	t.Helper()
	h.Eventually(t, name+" goes", func() string {
		if h.Missing(t, name, of) {
			return ""
		}
		return fmt.Sprintf("it is there, and being deleted: %t, with finalizers %v", of.GetDeletionTimestamp() != nil, of.GetFinalizers())
	})
}

// AwaitRegistry waits until a registry's condition has a status and a reason (empty for any), and
// returns the registry.
func (h *Home) AwaitRegistry(t *testing.T, name, condition string, status metav1.ConditionStatus, reason string) *tenantv1.TenantRegistry {
	t.Helper()
	o := &tenantv1.TenantRegistry{}
	h.awaitCondition(t, name, o, func() []metav1.Condition { return o.Status.Conditions }, condition, status, reason)
	return o
}

// AwaitTemplate is AwaitRegistry for a template.
func (h *Home) AwaitTemplate(t *testing.T, name, condition string, status metav1.ConditionStatus, reason string) *tenantv1.TenantTemplate {
	t.Helper()
	o := &tenantv1.TenantTemplate{}
	h.awaitCondition(t, name, o, func() []metav1.Condition { return o.Status.Conditions }, condition, status, reason)
	return o
}

// AwaitTenant is AwaitRegistry for a tenant.
func (h *Home) AwaitTenant(t *testing.T, name, condition string, status metav1.ConditionStatus, reason string) *tenantv1.Tenant {
	t.Helper()
	o := &tenantv1.Tenant{}
	h.awaitCondition(t, name, o, func() []metav1.Condition { return o.Status.Conditions }, condition, status, reason)
	return o
}

// AwaitReady waits until a tenant has all objects, and all are ready.
func (h *Home) AwaitReady(t *testing.T, name string) *tenantv1.Tenant {
	t.Helper()
	return h.AwaitTenant(t, name, tenantv1.ConditionReady, metav1.ConditionTrue, tenantv1.ReasonReconciled)
}

// awaitCondition waits for a condition of the current generation.
func (h *Home) awaitCondition(t *testing.T, name string, o client.Object, conditions func() []metav1.Condition, kind string, status metav1.ConditionStatus, reason string) {
	t.Helper()
	h.Eventually(t, fmt.Sprintf("%s of %s is %s %s", kind, name, status, reason), func() string {
		if err := h.Client.Get(t.Context(), h.key(name), o); err != nil {
			return err.Error()
		}
		c := apimeta.FindStatusCondition(conditions(), kind)
		switch {
		case c == nil:
			return "there is no such condition"
		case c.Status != status || reason != "" && c.Reason != reason:
			return fmt.Sprintf("it is %s %s: %s", c.Status, c.Reason, c.Message)
		case c.ObservedGeneration != 0 && c.ObservedGeneration != o.GetGeneration():
			return "it is about an earlier generation"
		}
		return ""
	})
}

// Message is the message of a condition.
func Message(conditions []metav1.Condition, kind string) string {
	if c := apimeta.FindStatusCondition(conditions, kind); c != nil {
		return c.Message
	}
	return ""
}
