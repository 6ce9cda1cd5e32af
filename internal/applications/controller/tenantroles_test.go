// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
)

// member is a client of somebody who is in a group.
func (e *estate) member(group string) client.Client {
	e.Helper()
	config := rest.CopyConfig(apitest.API(e.TB).RESTConfig())
	config.Impersonate = rest.ImpersonationConfig{UserName: "member-of-" + group, Groups: []string{group, "system:authenticated"}}
	c, err := client.New(config, client.Options{Scheme: kubetest.Scheme()})
	if err != nil {
		e.Fatal(err)
	}
	return c
}

// TestWhatTheGroupsOfTenantsMayDo makes requests as members of groups: what they may do in their tenant and
// below it, and that they may do nothing above and beside it.
func TestWhatTheGroupsOfTenantsMayDo(t *testing.T) {
	e := newEstate(t, "Guild")
	e.awaitDefinition(e.define("Chalice", bucketYAML), appv1.ReasonServed)
	foo, bar, other := e.space("foo"), e.space("foo-bar"), e.space("other")
	e.tenant(e.root(), "foo", appv1.PhaseReady, nil)
	e.tenant(e.root(), "other", appv1.PhaseReady, nil)
	e.tenant(foo, "bar", appv1.PhaseReady, nil)

	dry := &client.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	instance := func(kind, namespace string, spec map[string]any) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
		o.SetGroupVersionKind(appv1.InstanceVersion.WithKind(kind))
		o.SetNamespace(namespace)
		o.SetName("try")
		return o
	}
	deeds := []struct {
		name string
		do   func(c client.Client, namespace string) error
	}{
		{"see applications", func(c client.Client, namespace string) error {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(appv1.InstanceVersion.WithKind("Chalice"))
			return c.List(context.Background(), list, client.InNamespace(namespace))
		}},
		{"create an application", func(c client.Client, namespace string) error {
			return c.Create(context.Background(), instance("Chalice", namespace, map[string]any{"bucketName": "a"}), dry)
		}},
		{"create a tenant", func(c client.Client, namespace string) error {
			return c.Create(context.Background(), instance(e.kind, namespace, map[string]any{}), dry)
		}},
		{"read Secrets", func(c client.Client, namespace string) error {
			return c.List(context.Background(), &corev1.SecretList{}, client.InNamespace(namespace))
		}},
		{"bind view to somebody", func(c client.Client, namespace string) error {
			return c.Create(context.Background(), binding(namespace, appv1.TenantRole+"view"), dry)
		}},
		{"bind what they do not have themselves", func(c client.Client, namespace string) error {
			return c.Create(context.Background(), binding(namespace, "admin"), dry)
		}},
		{"create a Secret", func(c client.Client, namespace string) error { // it could be a state, or get a token of an account
			return c.Create(context.Background(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "try"}}, dry)
		}},
		{"change a Secret", func(c client.Client, namespace string) error {
			o := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: appv1.PlatformValues}}
			return c.Patch(context.Background(), o, client.RawPatch("application/merge-patch+json", []byte(`{"immutable":true}`)), &client.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		}},
		{"delete a Secret", func(c client.Client, namespace string) error {
			return c.Delete(context.Background(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: appv1.PlatformValues}}, &client.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
		}},
		{"write a status", func(c client.Client, namespace string) error {
			return c.Status().Patch(context.Background(), instance("Chalice", namespace, nil), client.RawPatch("application/merge-patch+json", []byte(`{"status":{"phase":"Ready"}}`)))
		}},
		{"create a stack", func(c client.Client, namespace string) error {
			return c.Create(context.Background(), &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "try"},
				Spec: infrav1.TerraformSpec{Interval: metav1.Duration{Duration: patience}, Inline: map[string]string{"main.tf": ""}}}, dry)
		}},
		{"change the quota or the record of the namespace", func(c client.Client, namespace string) error {
			o := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
			err := c.Patch(context.Background(), o, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"apps.cozystack.io/tenant":"{}"}}}`)))
			if !apierrors.IsForbidden(err) {
				return err
			}
			return c.Create(context.Background(), &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "try"}}, dry)
		}},
	}
	const none = 0
	for group, may := range map[string]map[string]int{ // how many of the deeds, in their order
		foo + "-view":              {e.root(): none, foo: 1, bar: 1, other: none},
		foo + "-use":               {e.root(): none, foo: 1, bar: 1, other: none},
		foo + "-admin":             {e.root(): none, foo: 4, bar: 4, other: none},
		foo + "-super-admin":       {e.root(): none, foo: 5, bar: 5, other: none},
		bar + "-super-admin":       {e.root(): none, foo: none, bar: 5, other: none},
		bar + "-view":              {e.root(): none, foo: none, bar: 1, other: none},
		e.space("root") + "-admin": {foo: 4, bar: 4, other: 4},
		"strangers":                {e.root(): none, foo: none, bar: none, other: none},
	} {
		c := e.member(group)
		for namespace, number := range may {
			for i, deed := range deeds {
				if i < number { // the API collects the rules of the groups' roles after a kind is served
					e.until(fmt.Sprintf("%s in %s: %s", group, namespace, deed.name), func() (bool, string) {
						err := deed.do(c, namespace)
						return err == nil, fmt.Sprint(err)
					})
				} else if err := deed.do(c, namespace); !apierrors.IsForbidden(err) {
					t.Errorf("%s in %s: %s is not forbidden: %v", group, namespace, deed.name, err)
				}
			}
		}
	}
	// The administrator of a tenant creates one below it, for real, and nowhere else.
	made := instance(e.kind, foo, map[string]any{})
	made.SetName("own")
	if err := e.member(foo+"-admin").Create(context.Background(), made); err != nil {
		t.Fatal(err)
	}
	e.at(foo).await(e.kind, "own", appv1.PhaseReady)
	e.until("its administrators are those of the parent, too", func() (bool, string) {
		err := deeds[1].do(e.member(foo+"-admin"), e.space("foo-own"))
		return err == nil, fmt.Sprint(err)
	})
}

func binding(namespace, role string) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "try"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "friends"}}}
}
