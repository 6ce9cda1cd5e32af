// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
)

func TestWhatIsBrokenInATenantIsMended(t *testing.T) {
	e := newEstate(t, "Mend")
	foo := e.space("foo")
	e.tenant(e.root(), "foo", appv1.PhaseReady, limit(5))
	e.hard(foo, 5)
	binding := func() *rbacv1.RoleBinding {
		b := &rbacv1.RoleBinding{}
		e.until("the binding of view", func() (bool, string) {
			err := e.Get(context.Background(), client.ObjectKey{Namespace: foo, Name: foo + "-view"}, b)
			return err == nil, fmt.Sprint(err)
		})
		return b
	}
	was := binding()
	changed := was.DeepCopy()
	changed.Subjects = []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "strangers"}}
	if err := e.Update(context.Background(), changed); err != nil {
		t.Fatal(err)
	}
	// Who deletes a binding may create one of its name that gives something else.
	other := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: foo, Name: foo + "-use"}}
	if err := e.Delete(context.Background(), other); err != nil {
		t.Fatal(err)
	}
	other = &rbacv1.RoleBinding{ObjectMeta: other.ObjectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"}}
	other.ResourceVersion, other.UID = "", ""
	if err := e.Create(context.Background(), other); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	e.until("the binding of use gives its role", func() (bool, string) {
		is := &rbacv1.RoleBinding{}
		err := e.Get(context.Background(), client.ObjectKeyFromObject(other), is)
		return err == nil && is.RoleRef.Name == appv1.TenantRole+"use" && len(is.Subjects) > 0, fmt.Sprint(err, is.RoleRef)
	})
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: foo, Name: "tenant-quota"}}
	if err := e.Delete(context.Background(), quota); err != nil {
		t.Fatal(err)
	}
	e.until("the binding is as it was", func() (bool, string) {
		is := binding()
		return cmp.Diff(was.Subjects, is.Subjects) == "", fmt.Sprint(is.Subjects)
	})
	e.hard(foo, 5)
}

// TestForgedValuesAreReplaced: values that cannot be changed any more are not kept, with or without the tenant's labels.
func TestForgedValuesAreReplaced(t *testing.T) {
	e := newEstate(t, "Forge")
	foo := e.space("foo")
	e.tenant(e.root(), "foo", appv1.PhaseReady, map[string]any{"host": "foo.example.net"})
	at := metav1.ObjectMeta{Namespace: foo, Name: appv1.PlatformValues}
	yes := true
	bad := map[string]string{"values.yaml": "_cluster: {oidc: evil}"}
	labelled := at.DeepCopy()
	labelled.Labels = map[string]string{appv1.LabelKind: e.kind, appv1.LabelGroup: appv1.InstanceVersion.Group, appv1.LabelName: "foo", appv1.LabelNamespace: e.root()}
	kept := at.DeepCopy()
	kept.Finalizers = []string{"example.org/stay"}
	for name, forged := range map[string]client.Object{
		"an immutable Secret":                  &corev1.Secret{ObjectMeta: *at.DeepCopy(), Immutable: &yes, StringData: bad},
		"an immutable Secret with the labels":  &corev1.Secret{ObjectMeta: *labelled, Immutable: &yes, StringData: bad},
		"an immutable Secret with a finalizer": &corev1.Secret{ObjectMeta: *kept, Immutable: &yes, StringData: bad},
		"a Secret of another type":             &corev1.Secret{ObjectMeta: *at.DeepCopy(), Type: "example.org/other", StringData: bad},
		"an immutable ConfigMap":               &corev1.ConfigMap{ObjectMeta: *at.DeepCopy(), Immutable: &yes, Data: map[string]string{"host": "evil"}},
	} {
		var good client.Object = &corev1.Secret{ObjectMeta: at}
		if _, ok := forged.(*corev1.ConfigMap); ok {
			good = &corev1.ConfigMap{ObjectMeta: at}
		}
		e.until(name+" takes the place of the values", func() (bool, string) {
			err := e.Delete(context.Background(), good)
			if client.IgnoreNotFound(err) == nil {
				err = e.Create(context.Background(), forged)
			}
			return err == nil, fmt.Sprint(err)
		})
		e.until(name+" is replaced", func() (bool, string) {
			secret, plain := &corev1.Secret{}, &corev1.ConfigMap{}
			err := errors.Join(e.Get(context.Background(), client.ObjectKey{Namespace: foo, Name: at.Name}, secret), e.Get(context.Background(), client.ObjectKey{Namespace: foo, Name: at.Name}, plain))
			return err == nil && secret.UID != forged.GetUID() && plain.UID != forged.GetUID() && secret.Type == corev1.SecretTypeOpaque &&
				strings.Contains(string(secret.Data["values.yaml"]), "foo.example.net") && plain.Data["host"] == "foo.example.net", fmt.Sprint(err, secret.Immutable, secret.Type, plain.Data)
		})
	}
}

// TestAQuotaWithoutRoomForItself: what the API refuses is said, and ends when the quota changes. Admission knows a quota
// only a moment after it was written, so the quota counts before anything is refused.
func TestAQuotaWithoutRoomForItself(t *testing.T) {
	e := newEstate(t, "Tight")
	foo := e.space("foo")
	const bindings = "count/rolebindings.rbac.authorization.k8s.io"
	e.tenant(e.root(), "foo", appv1.PhaseReady, nil)
	e.ask(e.root(), "foo", `{"spec":{"resourceQuotas":{"`+bindings+`":1}}}`)
	e.until("the quota counts", func() (bool, string) {
		quota := &corev1.ResourceQuota{}
		err := e.Get(context.Background(), client.ObjectKey{Namespace: foo, Name: "tenant-quota"}, quota)
		_, counted := quota.Status.Used[bindings]
		return err == nil && counted, fmt.Sprint(err, quota.Status)
	})
	view := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: foo, Name: foo + "-view"}}
	if err := e.Delete(context.Background(), view); err != nil {
		t.Fatal(err)
	}
	_, message := e.at(e.root()).await(e.kind, "foo", appv1.PhaseFailed)
	if !strings.Contains(message, "The API refuses what belongs to the tenant") || !strings.Contains(message, "exceeded quota") {
		t.Errorf("the message is %q", message)
	}
	e.ask(e.root(), "foo", `{"spec":{"resourceQuotas":null}}`)
	e.at(e.root()).await(e.kind, "foo", appv1.PhaseReady)
}

// TestTenantsAfterARestart: a restart writes nothing, and mends what was changed meanwhile.
func TestTenantsAfterARestart(t *testing.T) {
	kind := "Rest"
	w := &world{TB: t}
	stop := func() {}
	func() {
		e := newStoppable(t, kind, &stop)
		w = e.world
		e.tenant(e.root(), "foo", appv1.PhaseReady, limit(5))
		e.tenant(e.space("foo"), "bar", appv1.PhaseReady, limit(2))
		e.hard(e.space("foo"), 3)
	}()
	e := &estate{w, kind}
	versions := func() map[string]string {
		all := map[string]string{}
		for _, at := range []string{e.space("foo"), e.space("foo-bar")} {
			for _, o := range []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: at}}, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: at, Name: "cozystack-values"}},
				&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: at, Name: at + "-admin"}}, &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: at, Name: "tenant-quota"}}} {
				if err := e.Get(context.Background(), client.ObjectKeyFromObject(o), o); err != nil {
					t.Fatal(err)
				}
				all[fmt.Sprintf("%T %s", o, at)] = o.GetResourceVersion()
			}
		}
		return all
	}
	stop()
	before := versions()
	// Somebody who may change bindings takes away the ancestors' permissions.
	forged := &rbacv1.RoleBinding{}
	at := e.space("foo-bar")
	if err := e.Get(context.Background(), client.ObjectKey{Namespace: at, Name: at + "-view"}, forged); err != nil {
		t.Fatal(err)
	}
	subjects := len(forged.Subjects)
	forged.Subjects = forged.Subjects[:1]
	if err := e.Update(context.Background(), forged); err != nil {
		t.Fatal(err)
	}
	_, again := controllers(t)
	t.Cleanup(again)
	e.until("the binding is mended", func() (bool, string) {
		is := &rbacv1.RoleBinding{}
		err := e.Get(context.Background(), client.ObjectKeyFromObject(forged), is)
		return err == nil && len(is.Subjects) == subjects, fmt.Sprint(err, is.Subjects)
	})
	// A tenant that is granted something afterwards shows that the quota of foo is known.
	if message := e.tenant(e.space("foo"), "baz", appv1.PhaseFailed, limit(4)); !strings.Contains(message, "3 are left") {
		t.Errorf("the message is %q", message)
	}
	if diff := cmp.Diff(before, versions()); diff != "" {
		t.Errorf("the restart wrote (-before +after):\n%s", diff)
	}
}

// newStoppable is newEstate whose controllers the test stops.
func newStoppable(t *testing.T, kind string, stop *func()) *estate {
	t.Helper()
	e := &estate{stillWorld(t), kind}
	e.namespace = e.root()
	_, *stop = controllers(t)
	if err := e.Create(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.root()}}); err != nil {
		t.Fatal(err)
	}
	e.awaitDefinition(e.define(kind, tenantYAML), appv1.ReasonServed)
	return e
}

// TestManyTenantsAskAtOnce: however many ask at the same time, they never get more than there is.
func TestManyTenantsAskAtOnce(t *testing.T) {
	e := newEstate(t, "Crowd")
	foo := e.space("foo")
	e.tenant(e.root(), "foo", appv1.PhaseReady, limit(10))
	e.hard(foo, 10)
	const many = 12
	for i := range many {
		e.at(foo).make(e.kind, fmt.Sprint("t", i), limit(3))
	}
	phases := map[string]int{}
	e.until("all have an answer", func() (bool, string) {
		clear(phases)
		for i := range many {
			_, s := e.at(foo).status(e.kind, fmt.Sprint("t", i))
			phases[s.Phase]++
		}
		return phases[appv1.PhaseReady] == 3 && phases[appv1.PhaseFailed] == many-3, fmt.Sprint(phases)
	})
	e.hard(foo, 1)
}
