// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

// targets makes a fleet without rows, with the kubeconfig of each cluster in the named Secret.
func (f *fleet) targets(clusters map[string]*targetCluster) {
	f.t.Helper()
	for name, target := range clusters {
		f.must(target.client.Create(f.t.Context(), namespaceObject(f.namespace)))
		f.must(f.y.client.Create(f.t.Context(), secretOf(f.namespace, name, map[string]string{"value": string(target.kubeconfig)})))
	}
}

// has reports whether a cluster has the application of appAtTarget, and its Secret.
func (f *fleet) has(c *targetCluster) (app, secret bool) {
	f.t.Helper()
	there := func(o client.Object, name string) bool {
		err := c.client.Get(f.t.Context(), client.ObjectKey{Namespace: f.namespace, Name: name}, o)
		f.must(client.IgnoreNotFound(err))
		return err == nil
	}
	return there(newDeployment(), "t000-app"), there(&corev1.Secret{}, "t000-settings")
}

// says is the status of the fleet's only tenant.
func (f *fleet) says() string {
	if list := f.tenants(); len(list) == 1 {
		if c := apimeta.FindStatusCondition(list[0].Status.Conditions, tenantv1.ConditionReady); c != nil {
			return c.Message
		}
	}
	return ""
}

func (f *fleet) tenantIsReady() bool {
	list := f.tenants()
	return len(list) == 1 && isReady(&list[0])
}

// A tenant moves when its template names another cluster: Yuba deletes its objects in the old
// cluster when the new one has them. If the old cluster is dead, Yuba reports it and continues, and
// removing the finalizer deletes the tenant.
func TestTenantsMoveFromClusterToCluster(t *testing.T) {
	first, second, third := startTargetCluster(t), startTargetCluster(t), startTargetCluster(t)
	f := newFleet(t, 1, strings.Replace(appAtTarget, "CLUSTER", "first", 1))
	f.targets(map[string]*targetCluster{"first": first, "second": second, "third": third})
	f.eventually("the tenant is ready in the first", f.tenantIsReady)
	f.template(strings.Replace(appAtTarget, "CLUSTER", "second", 1))
	f.eventually("the second has all, and the first nothing", func() bool {
		app, secret := f.has(second)
		oldApp, oldSecret := f.has(first)
		return app && secret && !oldApp && !oldSecret && f.tenantIsReady()
	})
	for name, c := range map[string]*targetCluster{"first": first, "second": second} {
		if faults := c.blamed(f.namespace); len(faults) > 0 {
			t.Errorf("the %s: %s", name, faults)
		}
	}

	second.shut()
	f.template(strings.Replace(appAtTarget, "CLUSTER", "third", 1))
	f.eventually("the third has all, although the second is dead", func() bool {
		app, secret := f.has(third)
		return app && secret && f.tenantIsReady()
	})
	f.eventually("the status names the remaining objects", func() bool {
		list := f.tenants()
		return len(list) == 1 && strings.Contains(fmt.Sprint(list[0].Status.Waiting), "second, and cannot be removed there")
	})
	f.rows(0)
	f.eventually("the message says how to remove the finalizer", func() bool {
		says := f.says()
		app, secret := f.has(third)
		return !app && !secret && strings.Contains(says, "second, and cannot be removed there") &&
			strings.Contains(says, "kubectl patch tenant t000-web -n "+f.namespace)
	})
	f.must(f.y.client.Patch(t.Context(), &tenantv1.Tenant{ObjectMeta: f.named("t000-web")}, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))
	f.eventually("the tenant is gone", func() bool { return len(f.tenants()) == 0 })
}

// A lost cluster is created again, with the same name for its kubeconfig. Nothing recorded about
// the old one applies, especially not its resource versions, which are larger.
func TestAClusterMayBeMadeAnew(t *testing.T) {
	old := startTargetCluster(t)
	f := newFleet(t, 1, strings.Replace(appAtTarget, "CLUSTER", "cluster", 1))
	busy := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "busy"}}
	f.must(old.client.Create(t.Context(), busy))
	for i := range 600 {
		busy.Data = map[string]string{"i": fmt.Sprint(i)}
		f.must(old.client.Update(t.Context(), busy))
	}
	f.targets(map[string]*targetCluster{"cluster": old})
	f.eventually("the tenant is ready", f.tenantIsReady)
	anew := startTargetCluster(t)
	f.must(anew.client.Create(t.Context(), namespaceObject(f.namespace)))
	old.shut()
	f.must(f.y.client.Update(t.Context(), secretOf(f.namespace, "cluster", map[string]string{"value": string(anew.kubeconfig)})))
	f.eventually("the new one has all", func() bool {
		app, secret := f.has(anew)
		return app && secret && f.tenantIsReady()
	})
	f.rows(0)
	f.eventually("the tenant is gone", func() bool { return len(f.tenants()) == 0 })
	if app, secret := f.has(anew); app || secret {
		t.Errorf("the new one has the application: %v, the Secret: %v", app, secret)
	}
}

// If a kubeconfig is deleted with its namespace, nobody can delete the objects in its cluster, and
// the namespace must not wait for that forever.
func TestANamespaceGoesTogetherWithItsKubeconfig(t *testing.T) {
	target := startTargetCluster(t)
	f := newFleet(t, 1, strings.Replace(appAtTarget, "CLUSTER", "cluster", 1))
	f.targets(map[string]*targetCluster{"cluster": target})
	f.eventually("the tenant is ready", f.tenantIsReady)
	f.must(f.y.client.Delete(t.Context(), namespaceObject(f.namespace)))
	f.eventually("the namespace is gone", func() bool {
		return apierrors.IsNotFound(f.y.client.Get(t.Context(), client.ObjectKey{Name: f.namespace}, &corev1.Namespace{}))
	})
}

// Two servers can have tenants of the same name in the same cluster: neither adopts or deletes the
// other's objects.
func TestTwoServersShareACluster(t *testing.T) {
	target := startTargetCluster(t)
	template := strings.Replace(appAtTarget, "CLUSTER", "cluster", 1)
	one := newFleet(t, 0, template)
	y := alone(t)
	if err := y.client.Create(t.Context(), namespaceObject(one.namespace)); err != nil {
		t.Fatal(err)
	}
	other := fleetIn(t, y, one.namespace, 0, template)
	one.targets(map[string]*targetCluster{"cluster": target})
	other.must(other.y.client.Create(t.Context(), secretOf(other.namespace, "cluster", map[string]string{"value": string(target.kubeconfig)})))
	one.rows(1)
	one.eventually("the first one's tenant is ready", one.tenantIsReady)
	other.rows(1)
	other.eventually("the other one says who has it", func() bool { return strings.Contains(other.says(), "t000-web of another server") })
	other.rows(0)
	other.eventually("the other one's tenant is gone", func() bool { return len(other.tenants()) == 0 })
	if app, secret := one.has(target); !app || !secret || !one.tenantIsReady() {
		t.Errorf("the application is there: %v, its Secret: %v", app, secret)
	}
	one.rows(0)
	one.eventually("the first one's tenant is gone", func() bool { return len(one.tenants()) == 0 })
	if app, secret := one.has(target); app || secret {
		t.Errorf("the application is there: %v, its Secret: %v", app, secret)
	}
}
