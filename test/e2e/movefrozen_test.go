// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// Somebody resumes a stack at the source during a move. The comparison does not count then: the move
// suspends it again and compares anew.
func TestMoveSuspendsAgainWhatSomebodyResumesAtTheSource(t *testing.T) {
	m := newMovers(t)
	const ns = "thawed"
	id, runs := m.small(t, ns)
	mover, err := m.mover(t, &killer{}, ns)
	if err != nil {
		t.Fatal(err)
	}
	copied := 0
	mover.News = func(format string, args ...any) {
		t.Logf(format, args...)
		if strings.HasPrefix(format, "Copied the history") {
			if copied++; copied == 1 {
				change(t, m.a, m.a.stack(t, ns, "base"), func(o *infrav1.Terraform) { o.Spec.Suspend, o.Spec.DestroyResourcesOnDeletion = false, true })
			}
		}
	}
	if _, err := mover.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if copied != 2 {
		t.Errorf("it was copied %d times", copied)
	}
	m.arrived(t, ns, id, runs, "resumed at the source")
	if m.a.stack(t, ns, "base").Spec.DestroyResourcesOnDeletion || !m.b.stack(t, ns, "base").Spec.DestroyResourcesOnDeletion {
		t.Error("the copy is not protected, or its original is")
	}
}

// A Kustomization in another namespace that manages a stack would resume it at the source: it must be
// suspended before.
func TestMoveIsBlockedByAKustomizationThatStays(t *testing.T) {
	m := newMovers(t)
	const ns, root = "managed", "root"
	m.a.create(t, namespaceObject(ns), namespaceObject(root))
	all := &kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Namespace: root, Name: "all"}, Spec: kustomizev1.KustomizationSpec{
		Interval: metav1.Duration{Duration: time.Hour}, SourceRef: kustomizev1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: "none"}}}
	obj := inline(ns, "vpc", greeting, variable("name", "world"), auto)
	obj.Labels = map[string]string{"kustomize.toolkit.fluxcd.io/name": "all", "kustomize.toolkit.fluxcd.io/namespace": root}
	m.a.create(t, all, obj)
	m.a.await(t, obj, "it is ready", ready)
	out, news, code := m.a.run(t, "move", "--from", m.a.dir, "--to", m.b.kubeconfig(), "-n", ns, "--yes")
	if code != 5 || !strings.Contains(out, "Kustomization root/all") || !strings.Contains(out, "kubectl patch kustomization all -n root") {
		t.Fatalf("an active Kustomization manages it: %d\n%s%s", code, out, news)
	}
	change(t, m.a, all, func(k *kustomizev1.Kustomization) { k.Spec.Suspend = true })
	move(t, m.a, m.b, "-n", ns)
	m.b.await(t, obj, "it works at the target", ready)
}
