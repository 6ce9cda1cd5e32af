// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package home

import (
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// countedWithin is far below the interval in which the controllers look for kinds by themselves, and that of
// recounts, which is minutes.
const countedWithin = 15 * time.Second

// A quota limits a kind that comes after it, from its first object on.
func TestAQuotaLimitsANewKindAtOnce(t *testing.T) {
	p := startIn(t, testOptions(t.TempDir()))
	client := clientOf(t, p).CoreV1()
	if _, err := client.Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	const counts = "count/wells.apps.example.com"
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "wells"}, Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{counts: resource.MustParse("2")}}}
	if _, err := client.ResourceQuotas("team").Create(t.Context(), quota, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the controller has seen the quota", func() error {
		now, err := client.ResourceQuotas("team").Get(t.Context(), "wells", metav1.GetOptions{})
		if err == nil && len(now.Status.Hard) == 0 {
			return errors.New("it has not")
		}
		return err
	})
	kinds, err := apiextensions.NewForConfig(p.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	keeps := true
	kind := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "wells.apps.example.com"}, Spec: apiextensionsv1.CustomResourceDefinitionSpec{
		Group: "apps.example.com", Scope: apiextensionsv1.NamespaceScoped, Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "wells", Singular: "well", Kind: "Well", ListKind: "WellList"},
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true,
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &keeps}}}}}}
	if _, err := kinds.ApiextensionsV1().CustomResourceDefinitions().Create(t.Context(), kind, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	objects, err := dynamic.NewForConfig(p.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	wells := objects.Resource(schema.GroupVersionResource{Group: "apps.example.com", Version: "v1", Resource: "wells"}).Namespace("team")
	create := func(name string) error {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(schema.GroupVersionKind{Group: "apps.example.com", Version: "v1", Kind: "Well"})
		o.SetName(name)
		_, err := wells.Create(t.Context(), o, metav1.CreateOptions{})
		return err
	}
	began := time.Now()
	eventually(t, "the first object is accepted", func() error { return create("a") })
	if took := time.Since(began); took > countedWithin {
		t.Errorf("the first object was accepted after %s", took)
	} else {
		t.Logf("the first object was accepted after %s", took)
	}
	if err := create("b"); err != nil {
		t.Fatal(err)
	}
	if err := create("c"); !apierrors.IsForbidden(err) {
		t.Errorf("a third object: %v", err)
	}
	if err := wells.Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a deletion makes room", func() error {
		if err := create("c"); err != nil {
			return fmt.Errorf("create another one: %w", err)
		}
		return nil
	})
}
