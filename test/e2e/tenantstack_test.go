// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

// ofTenant makes a stack belong to a tenant, by the labels of objects in other namespaces.
func ofTenant(uid string) func(*infrav1.Terraform) {
	return func(o *infrav1.Terraform) {
		o.Labels = map[string]string{tenantv1.LabelUID: uid, tenantv1.LabelTenant: uid + "-web", tenantv1.LabelTenantNamespace: o.Namespace}
	}
}

// A tenant's stack gets its provider's credentials in the environment, although its program does
// not declare them, and its Secrets have the tenant's label. Another tenant's stack may not read
// them.
func TestATenantsStackKeepsToItself(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	c, _ := cloudy(t, y, ns)
	credentials := secretOf(ns, "credentials", map[string]string{"YUBATEST_ENDPOINT": c.URL(), "YUBATEST_TOKEN": c.Token(), "COMPANY": "Acme"})
	credentials.Labels = map[string]string{tenantv1.LabelUID: "acme"}
	y.create(t, credentials)
	program := providerHCL + objectHCL("acme-db", "of acme") + "output \"name\" { value = yubatest_object.acme-db.name }\n"
	acme := inline(ns, "acme-db", program, auto, destroying, ofTenant("acme"), varsFrom("Secret", "credentials"), outputsTo("acme-db-outputs"))
	y.create(t, acme)
	seen := y.await(t, acme, "it is applied", ready)
	has(t, c, "acme-db", "of acme")
	for _, o := range []client.Object{
		secretOf(ns, "acme-db-outputs", nil), secretOf(ns, stateSecret(acme), nil),
		&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "lock-" + stateSecret(acme)}},
	} {
		if !y.there(t, o) || o.GetLabels()[tenantv1.LabelUID] != "acme" {
			t.Errorf("%T %s has the labels %v", o, o.GetName(), o.GetLabels())
		}
	}
	secrets := newSearcher(map[string]string{"the token": c.Token()})
	secrets.everythingReadable(t, y, seen)

	beta := inline(ns, "beta-app", "variable \"name\" {}\noutput \"name\" { value = var.name }\n", auto, ofTenant("beta"),
		varsFrom("Secret", "acme-db-outputs"), outputsTo("beta-app-outputs"))
	y.create(t, beta)
	refused := y.await(t, beta, "it is refused", failedWith(infrav1.ReasonAccessDenied))
	message := condition(refused, infrav1.ConditionReady).Message
	for _, part := range []string{"spec.varsFrom[0]", ns + "/acme-db-outputs", `tenant "acme"`, `tenant "beta"`} {
		if !strings.Contains(message, part) {
			t.Errorf("the message lacks %s: %s", part, message)
		}
	}
	// A stack without a tenant may read any Secret. Yuba reconciles it as soon as its label changes.
	change(t, y, beta, func(o *infrav1.Terraform) { o.Labels = nil })
	y.await(t, beta, "it is applied", ready)
	if got := string(y.secret(t, ns, "beta-app-outputs")["name"]); got != "acme-db" {
		t.Errorf("the output is %q", got)
	}
	y.delete(t, acme)
	y.awaitGone(t, acme)
	has(t, c, "acme-db", "")
	// Nothing remains of a deleted tenant.
	for _, o := range []client.Object{secretOf(ns, stateSecret(acme), nil), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "lock-" + stateSecret(acme)}}} {
		if y.there(t, o) {
			t.Errorf("%T %s is left", o, o.GetName())
		}
	}
}

// For stacks without a tenant, variables that their programs do not declare are not used.
func TestOtherStacksAreLentNothing(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	c, _ := cloudy(t, y, ns)
	y.create(t, secretOf(ns, "credentials", map[string]string{"YUBATEST_ENDPOINT": c.URL(), "YUBATEST_TOKEN": c.Token()}))
	obj := inline(ns, "plain", providerHCL+objectHCL("plain", "x"), auto, varsFrom("Secret", "credentials"))
	y.create(t, obj)
	y.await(t, obj, "it does not get into the cloud", func(o *infrav1.Terraform) bool {
		ready := condition(o, infrav1.ConditionReady)
		return settled(o) && ready.Status == metav1.ConditionFalse
	})
	has(t, c, "plain", "")
}

// A state is a Secret like others: neither the suffix nor the workspace of a stack gives access to
// another tenant's state or its outputs, and deleting the stack does not change that state.
func TestATenantsStackCannotTakeTheStateOfAnother(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	acme := inline(ns, "acme-db", "output \"name\" { value = \"of acme\" }\n", auto, ofTenant("acme"))
	y.create(t, acme)
	beta := inline(ns, "beta-app", "output \"name\" { value = \"of beta\" }\n", auto, destroying, ofTenant("beta"), outputsTo("beta-app-outputs"))
	y.create(t, beta)
	y.await(t, acme, "it is applied", ready)
	y.await(t, beta, "it is applied", ready)
	was := y.secret(t, ns, stateSecret(acme))

	change(t, y, beta, func(o *infrav1.Terraform) { o.Spec.BackendConfig = &infrav1.BackendConfigSpec{SecretSuffix: "acme-db"} })
	other := inline(ns, "db", "output \"name\" { value = \"taken\" }\n", auto, destroying, ofTenant("beta"), outputsTo("db-outputs"),
		func(o *infrav1.Terraform) { o.Spec.Workspace = "default-acme" })
	y.create(t, other)
	for _, obj := range []*infrav1.Terraform{beta, other} {
		refused := y.await(t, obj, "it is refused", failedWith(infrav1.ReasonAccessDenied))
		message := condition(refused, infrav1.ConditionReady).Message
		for _, part := range []string{"Secret " + ns + "/tfstate-default-acme-db", `belongs to tenant "acme"`, `the stack belongs to tenant "beta"`} {
			if !strings.Contains(message, part) {
				t.Errorf("the message lacks %s: %s", part, message)
			}
		}
	}
	if got := string(y.secret(t, ns, "beta-app-outputs")["name"]); got != "of beta" {
		t.Errorf("the output is %q", got)
	}
	if y.there(t, secretOf(ns, "db-outputs", nil)) {
		t.Error("a stack that never ran has outputs")
	}
	for _, obj := range []*infrav1.Terraform{beta, other} {
		y.delete(t, obj)
		y.awaitGone(t, obj)
	}
	if diff := cmp.Diff(was, y.secret(t, ns, stateSecret(acme))); diff != "" {
		t.Errorf("the state of acme has changed: %s", diff)
	}
}
