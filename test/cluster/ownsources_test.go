// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"strings"
	"testing"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/testkit/gittest"
)

// The value sources.enabled makes Yuba fetch sources, but never beside Flux. Stacks go on when the
// one takes over from the other.
func TestYubaReplacesFluxAndLeavesItAlone(t *testing.T) {
	tm := newTeam(t, false)
	central := gittest.New(t, gittest.Listen(nodeAddress(t))).Repository(t, "central")
	program := func(text string) gittest.Files { return gittest.Files{"stack/main.tf": saying(text)} }
	central.Commit(t, "first", program("first"))
	repository := &sourcev1.GitRepository{ObjectMeta: metav1.ObjectMeta{Name: "central"},
		Spec: sourcev1.GitRepositorySpec{URL: central.URL(), Interval: every, Reference: &sourcev1.GitRepositoryRef{Branch: "main"}}}
	tm.create(repository)
	tm.from(sourcev1.GitRepositoryKind, "central", "vpc")
	tm.says("vpc", "first")

	t.Cleanup(func() {
		scaleFlux(t, 1)
		setValues(t, "sources.enabled=false")
	})
	setValues(t, "sources.enabled=true")
	eventually(t, "the log says that Flux runs", func() string {
		if log := controllersLog(t); !strings.Contains(log, "-controller is running on this API") {
			return "it does not"
		}
		return ""
	})
	central.Commit(t, "second", program("second"))
	tm.says("vpc", "second")
	foreign(tm, repository)

	scaleFlux(t, 0)
	restart(t)
	central.Commit(t, "third", program("third"))
	tm.says("vpc", "third")
	must(t, api.Get(t.Context(), client.ObjectKeyFromObject(repository), repository))
	if url := repository.Status.Artifact.URL; !strings.Contains(url, "yuba") {
		t.Errorf("without Flux, the archive is at %s", url)
	}
	tm.kustomizationOfYuba(central)

	scaleFlux(t, 1)
	eventually(t, "the controllers end because of Flux", func() string {
		if log := controllersLog(t); !strings.Contains(log, "Yuba restarts, to leave sources and Kustomizations to Flux") {
			return "they do not say so"
		}
		return ""
	})
	central.Commit(t, "fourth", program("fourth"))
	tm.says("vpc", "fourth")
	eventually(t, "Flux serves the archive", func() string {
		must(t, api.Get(t.Context(), client.ObjectKeyFromObject(repository), repository))
		if url := repository.Status.Artifact.URL; !strings.Contains(url, "source-controller") {
			return url
		}
		return ""
	})
}

// kustomizationOfYuba applies a stack by a Kustomization that Yuba reconciles.
func (tm *team) kustomizationOfYuba(central *gittest.Repository) {
	tm.t.Helper()
	central.Commit(tm.t, "a stack", gittest.Files{"deploy/stack.yaml": "apiVersion: infra.contrib.fluxcd.io/v1alpha2\nkind: Terraform\nmetadata: {name: applied}\n" +
		"spec:\n  interval: 1h\n  approvePlan: auto\n  path: ./stack\n  sourceRef: {kind: GitRepository, name: central}\n"})
	all := &kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Name: "all"}, Spec: kustomizev1.KustomizationSpec{
		Path: "./deploy", Prune: true, Interval: every, TargetNamespace: tm.name,
		SourceRef: kustomizev1.CrossNamespaceSourceReference{Kind: sourcev1.GitRepositoryKind, Name: "central"}}}
	tm.create(all)
	eventually(tm.t, "Yuba applies the stack of a Kustomization", func() string {
		var obj infrav1.Terraform
		if err := api.Get(tm.t.Context(), client.ObjectKey{Namespace: tm.name, Name: "applied"}, &obj); err != nil {
			return err.Error()
		}
		return applied(&obj)
	})
}
