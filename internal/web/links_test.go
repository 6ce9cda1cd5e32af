// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"
	"strings"
	"testing"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/web/links"
)

// Alerts lead to pages that exist. Those of objects that are gone say so. Plans and runs are not on
// the API of these tests, but their pages are.
func TestLinksFromAlertsLeadToPages(t *testing.T) {
	w, namespace := newWorld(t), apitest.Namespace(t)
	hostile(t, namespace)
	root := w.login(admin())
	there := stack(t, namespace, "there")
	run := there.DeepCopy()
	run.Status.LastRun = &infrav1.RunReference{ID: "r1"}
	for _, test := range []struct {
		object client.Object
		reason string
		code   int
	}{
		{there, infrav1.ReasonPlanSucceeded, http.StatusBadGateway},
		{there, infrav1.ReasonDependencyNotReady, http.StatusOK},
		{run, infrav1.ReasonApplyFailed, http.StatusBadGateway},
		{&infrav1.Terraform{ObjectMeta: named(namespace, "gone")}, "", http.StatusNotFound},
		{&kustomizev1.Kustomization{ObjectMeta: named(namespace, "infra")}, "", http.StatusOK},
		{&sourcev1.GitRepository{ObjectMeta: named(namespace, "repo")}, "", http.StatusOK},
		{&yubav1.CircuitBreaker{}, "", http.StatusOK},
	} {
		path := links.About(test.object, test.reason)
		code, body := root.get(path)
		if code != test.code || strings.Contains(body, "There is no page at") {
			t.Errorf("%s: %d, want %d", path, code, test.code)
		}
	}
}
