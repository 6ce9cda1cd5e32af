// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package home

import (
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/home/controllers"
)

func TestTenantsNamespacesGetAQuota(t *testing.T) {
	options := testOptions(t.TempDir())
	options.TenantQuota = corev1.ResourceList{"count/configmaps": resource.MustParse("3")}
	p := startIn(t, options)
	client := clientOf(t, p).CoreV1()
	for name, labels := range map[string]map[string]string{"plain": nil, "acme": {tenantv1.LabelTenant: "acme"}} {
		if _, err := client.Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	quota := func(namespace string) error {
		got, err := client.ResourceQuotas(namespace).Get(t.Context(), controllers.TenantQuotaName, metav1.GetOptions{})
		if err == nil && len(got.Status.Used) == 0 {
			return errors.New("nothing was counted yet")
		}
		return err
	}
	eventually(t, "the tenant's namespace has its quota", func() error { return quota("acme") })
	eventually(t, "the quota holds", func() error {
		_, err := client.ConfigMaps("acme").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "one-"}}, metav1.CreateOptions{})
		if !apierrors.IsForbidden(err) {
			return fmt.Errorf("it does not: %v", err)
		}
		return nil
	})
	own := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "own"}, Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/configmaps": resource.MustParse("50")}}}
	if _, err := client.ResourceQuotas("acme").Create(t.Context(), own, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a quota of its own takes its place", func() error { return gone(quota("acme")) })
	// A person's quota may have that name.
	named, err := client.ResourceQuotas("acme").Create(t.Context(), &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: controllers.TenantQuotaName}, Spec: own.Spec}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// Once the controller has handled a later namespace, it has had time to see this one.
	if _, err := client.Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "later", Labels: map[string]string{tenantv1.LabelTenant: "later"}}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "another tenant's namespace has its quota", func() error { return quota("later") })
	if now, err := client.ResourceQuotas("acme").Get(t.Context(), named.Name, metav1.GetOptions{}); err != nil || now.UID != named.UID {
		t.Errorf("a person's quota of the default's name: %v", err)
	}
	if err := client.ResourceQuotas("acme").Delete(t.Context(), named.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := client.ResourceQuotas("acme").Delete(t.Context(), "own", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "without it, the default is back", func() error { return quota("acme") })
	if err := gone(quota("plain")); err != nil {
		t.Errorf("a namespace that no Tenant made: %v", err)
	}
}
