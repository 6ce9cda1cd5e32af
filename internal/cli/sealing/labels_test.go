// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package sealing

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/cli/session"
)

// A platform deletes a stack with its label that it does not want, and the resources with it.
func TestARestoredStackIsNobodys(t *testing.T) {
	was := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{
		Namespace: "team", Name: "vpc", Finalizers: []string{infrav1.Finalizer},
		Annotations:     map[string]string{"yuba.dev/handed-over": "{}"},
		OwnerReferences: []metav1.OwnerReference{{Kind: "Platform", Name: "acme"}},
		Labels: map[string]string{
			yubav1.LabelPlatform: "acme", yubav1.LabelPlatformRegion: "eu", yubav1.LabelPlatformPhase: "network", yubav1.LabelPlatformComponent: "vault",
			infrav1.LabelPullRequest: "7", "operator.kubernetes-tenants.org/home": "a", "apps.cozystack.io/application.name": "b",
			session.LabelOwnerName: "all", session.LabelOwnerNamespace: "flux-system", "helm.toolkit.fluxcd.io/name": "c",
			"argocd.argoproj.io/instance": "d", "app.kubernetes.io/managed-by": "Helm", "app.kubernetes.io/instance": "e",
			"team": "network", "example.org/tier": "1", "app.kubernetes.io/name": "vpc", "notyuba.dev/x": "y",
		}},
	}
	got := made(was)
	want := metav1.ObjectMeta{Namespace: "team", Name: "vpc", Labels: map[string]string{"team": "network", "example.org/tier": "1", "app.kubernetes.io/name": "vpc", "notyuba.dev/x": "y"}}
	if diff := cmp.Diff(want, got.ObjectMeta); diff != "" {
		t.Error(diff)
	}
	if !got.Spec.Suspend {
		t.Error("it is not suspended")
	}
}

// What names a Secret is said before it is wiped, also by kinds with commands of their own.
func TestPlatformsAndDNSNameSecrets(t *testing.T) {
	names := map[string]bool{}
	for _, kind := range namingKinds() {
		names[kind.GVK.Kind] = true
	}
	for _, want := range []string{yubav1.PlatformKind, yubav1.FailoverRecordKind, yubav1.SubdomainPoolKind} {
		if !names[want] {
			t.Errorf("%s is missing", want)
		}
	}
	if !referencesOf(map[string]any{"spec": map[string]any{"regions": []any{map[string]any{"credentialsRef": map[string]any{"name": "hcloud"}}}}}).secrets["hcloud"] {
		t.Error("the credentials of a region are not a reference")
	}
}
