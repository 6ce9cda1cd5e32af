// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"strings"
	"testing"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/testkit/fluxtest"
	"github.com/yuba-dev/yuba/internal/testkit/gittest"
	"github.com/yuba-dev/yuba/internal/testkit/ocitest"
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

	theirs := string(fluxtest.Definitions(t)["source.toolkit.fluxcd.io_ocirepositories.yaml"])
	t.Cleanup(func() {
		installFluxsKind(t, theirs)
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

	do(t, "", "yuba", "kubectl", "delete", "ocirepositories", "--all-namespaces", "--all")
	scaleFlux(t, 0)
	// A cluster without Flux has Yuba's definitions, which serve the older version, too.
	do(t, "", "yuba", "kubectl", "delete", "crd", "ocirepositories.source.toolkit.fluxcd.io")
	do(t, "", "yuba", "crds", "install", "--flux")
	restart(t)
	central.Commit(t, "third", program("third"))
	tm.says("vpc", "third")
	must(t, api.Get(t.Context(), client.ObjectKeyFromObject(repository), repository))
	if url := repository.Status.Artifact.URL; !strings.Contains(url, "yuba") {
		t.Errorf("without Flux, the archive is at %s", url)
	}
	tm.kustomizationOfYuba(central)
	tm.slide()

	installFluxsKind(t, theirs)
	scaleFlux(t, 1)
	eventually(t, "the controllers end because of Flux", func() string {
		if log := controllersLog(t); !strings.Contains(log, "Yuba restarts, to leave sources, Kustomizations and HelmReleases to Flux") {
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

// installFluxsKind installs Flux's definition of OCIRepositories as "flux install" does.
func installFluxsKind(t *testing.T, theirs string) {
	t.Helper()
	do(t, theirs, "yuba", "kubectl", "apply", "--server-side", "--force-conflicts", "--field-manager=flux", "-f", "-")
	do(t, "", "yuba", "kubectl", "label", "--overwrite", "crd", "ocirepositories.source.toolkit.fluxcd.io", "app.kubernetes.io/part-of=flux")
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

// slide applies the OCIRepository and the Terraform of the talk "Terraform at reasonable scale" as
// printed, with their versions from a ConfigMap. Only the registry, its provider and the backend,
// which is at AWS, are the test's.
func (tm *team) slide() {
	tm.t.Helper()
	registry := ocitest.New(tm.t, ocitest.Listen(nodeAddress(tm.t)))
	registry.Push(tm.t, "iac/foo", "0.1.0", ocitest.Files{"main.tf": saying("foo")})
	central := gittest.New(tm.t, gittest.Listen(nodeAddress(tm.t))).Repository(tm.t, "slides")
	central.Commit(tm.t, "the slide", gittest.Files{"foo.yaml": strings.ReplaceAll(slide, "oci://xxx.dkr.ecr.eu-central-1.amazonaws.com/iac/foo", registry.URL("iac/foo"))})
	tm.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "service-versions"}, Data: map[string]string{"version_foo": "2.5.0", "version_foo_tf": "~ 0.1.0-0"}})
	tm.create(&sourcev1.GitRepository{ObjectMeta: metav1.ObjectMeta{Name: "slides"},
		Spec: sourcev1.GitRepositorySpec{URL: central.URL(), Interval: every, Reference: &sourcev1.GitRepositoryRef{Branch: "main"}}})
	// Yuba's own permissions do not include the creation of sources.
	tm.create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "deployer"}})
	tm.create(&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "deployer"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: "deployer", Namespace: tm.name}}})
	slides := &kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Name: "slides"}, Spec: kustomizev1.KustomizationSpec{
		ServiceAccountName: "deployer", Path: ".", Prune: true, Interval: every, TargetNamespace: tm.name, SourceRef: kustomizev1.CrossNamespaceSourceReference{Kind: sourcev1.GitRepositoryKind, Name: "slides"},
		PostBuild: &kustomizev1.PostBuild{SubstituteFrom: []kustomizev1.SubstituteReference{{Kind: "ConfigMap", Name: "service-versions"}}}}}
	tm.create(slides)
	eventually(tm.t, "the stack of the slide is planned", func() string {
		var obj infrav1.Terraform
		if err := api.Get(tm.t.Context(), client.ObjectKey{Namespace: tm.name, Name: "foo"}, &obj); err != nil {
			must(tm.t, api.Get(tm.t.Context(), client.ObjectKeyFromObject(slides), slides))
			return fmt.Sprintf("%v; its Kustomization: %+v", err, slides.Status.Conditions)
		}
		if !strings.HasPrefix(obj.Status.LastPlannedRevision, "0.1.0@sha256:") || obj.Status.Plan.Pending == "" {
			return describe(&obj)
		}
		return ""
	})
}

const slide = `
apiVersion: source.toolkit.fluxcd.io/v1beta2
kind: OCIRepository
metadata:
  name: foo-iac
spec:
  interval: 5m
  provider: generic
  ref:
    semver: "${version_foo_tf}"
  url: oci://xxx.dkr.ecr.eu-central-1.amazonaws.com/iac/foo
---
apiVersion: infra.contrib.fluxcd.io/v1alpha2
kind: Terraform
metadata:
  name: foo
spec:
  interval: 1h # the slide has none, and the field is required
  sourceRef:
    kind: OCIRepository
    name: foo-iac
  vars: []
`
