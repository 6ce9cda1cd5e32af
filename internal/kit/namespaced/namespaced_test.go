// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package namespaced_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/kit/namespaced"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

func TestMain(m *testing.M) { apitest.Main(m) }

func TestListsAreThoseOfTheNamespaces(t *testing.T) {
	c := apitest.Client(t)
	for _, namespace := range []string{"one", "two", "three"} {
		if err := c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"a", "b", "c"} {
			cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"test": "namespaced"}}}
			if err := c.Create(t.Context(), cm); err != nil {
				t.Fatal(err)
			}
		}
	}
	scoped := namespaced.Client{Client: c, Namespaces: []string{"one", "two"}}
	for sentence, test := range map[string]struct {
		options []client.ListOption
		want    []string
	}{
		"all":           {nil, []string{"one/a", "one/b", "one/c", "two/a", "two/b", "two/c"}},
		"page by page":  {[]client.ListOption{client.Limit(2)}, []string{"one/a", "one/b", "one/c", "two/a", "two/b", "two/c"}},
		"one namespace": {[]client.ListOption{client.InNamespace("two")}, []string{"two/a", "two/b", "two/c"}},
	} {
		var list corev1.ConfigMapList
		if err := scoped.List(t.Context(), &list, append(test.options, client.MatchingLabels{"test": "namespaced"})...); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, o := range list.Items {
			got = append(got, o.Namespace+"/"+o.Name)
		}
		if slices.Sort(got); !slices.Equal(got, test.want) || list.Continue != "" {
			t.Errorf("%s: %v, continue %q", sentence, got, list.Continue)
		}
	}
	var all corev1.NamespaceList
	if err := scoped.List(t.Context(), &all); err != nil || len(all.Items) < 3 {
		t.Errorf("%d namespaces, %v: kinds without a namespace are listed as they are", len(all.Items), err)
	}
}
