// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"testing"

	"github.com/chromedp/chromedp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
)

// The page of an instance with several objects shows how far each of them is while it is made, and leads to
// their pages.
func TestTheObjectsOfAnInstance(t *testing.T) {
	s, ns := common(t)
	s.yuba(t, "kubectl", "apply", "-f", "testdata/booth.yaml")
	s.yuba(t, "kubectl", "wait", "--for=condition=Ready", "applicationdefinition/booth", "--timeout=60s")
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
	o.SetGroupVersionKind(appv1.InstanceVersion.WithKind("Booth"))
	o.SetNamespace(ns)
	o.SetName("corner")
	if err := s.client.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	b := newTab(t, s)
	b.login()
	b.open("/applications/booths/" + ns + "/corner")
	b.sees("#part-place .state", "AwaitingApproval")
	b.sees("#part-sign .state", "Waiting")
	b.usable("an instance with several objects")
	b.do(chromedp.Click(`form[action$="/approve"] button`, chromedp.ByQuery))
	// The page follows by itself.
	b.sees("#part-place .state", "Ready")
	b.sees("#part-sign .state", "Ready")
	b.do(chromedp.Click(`#part-place a`, chromedp.ByQuery), chromedp.WaitVisible("h1", chromedp.ByQuery))
	if want := "/stacks/" + ns + "/booth-corner-place"; b.path() != want {
		t.Errorf("the link leads to %s, want %s", b.path(), want)
	}
}
