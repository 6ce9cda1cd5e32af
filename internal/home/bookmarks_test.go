// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package home

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

// resting is a custom kind of which there are no objects.
const resting = `{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
	"metadata": {"name": "restings.bookmarks.test"},
	"spec": {"group": "bookmarks.test", "scope": "Namespaced",
		"names": {"kind": "Resting", "plural": "restings", "singular": "resting", "listKind": "RestingList"},
		"versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}]}}`

func TestWhoWatchesWhatRestsHearsHowFarItHasCome(t *testing.T) {
	client, err := dynamic.NewForConfig(shared.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	var definition unstructured.Unstructured
	if err := definition.UnmarshalJSON([]byte(resting)); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Resource(definitions).Create(t.Context(), &definition, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	maps := clientOf(t, shared).CoreV1().ConfigMaps(newNamespace(t, shared))
	for _, kind := range []schema.GroupVersionResource{
		{Version: "v1", Resource: "resourcequotas"}, definitions, {Group: "bookmarks.test", Version: "v1", Resource: "restings"},
		{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"},
	} {
		t.Run(kind.Resource, func(t *testing.T) {
			var following watch.Interface
			eventually(t, "the kind can be watched", func() (err error) {
				from, err := client.Resource(kind).List(t.Context(), metav1.ListOptions{})
				if err != nil {
					return err
				}
				following, err = client.Resource(kind).Watch(t.Context(), metav1.ListOptions{AllowWatchBookmarks: true, ResourceVersion: from.GetResourceVersion()})
				return err
			})
			defer following.Stop()
			now, err := maps.Create(t.Context(), configMap("written-beside-"+kind.Resource), metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if err := awaitBookmark(following, now.ResourceVersion); err != nil {
				t.Error(err)
			}
		})
	}
}

// awaitBookmark waits until a watch has come as far as a version.
func awaitBookmark(following watch.Interface, far string) error {
	deadline := time.After(30 * time.Second)
	for {
		select {
		case e, open := <-following.ResultChan():
			if !open {
				return fmt.Errorf("the watch ended before it came as far as %s", far)
			}
			o, ok := e.Object.(*unstructured.Unstructured)
			if e.Type != watch.Bookmark || !ok {
				continue
			}
			if number(o.GetResourceVersion()) >= number(far) {
				return nil
			}
		case <-deadline:
			return fmt.Errorf("no bookmark came as far as %s within 30 s", far)
		}
	}
}

func number(version string) uint64 {
	n, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
