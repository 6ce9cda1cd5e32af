// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/moving"
	"github.com/yuba-dev/yuba/internal/platform/decide"
	"github.com/yuba-dev/yuba/internal/platform/plan"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

// The cache may not know yet that a platform was moved: its pass makes and removes nothing nevertheless.
func TestAPassThatReadAPlatformBeforeItsMarkChangesNothing(t *testing.T) {
	c, ns := apitest.Client(t), apitest.Namespace(t)
	p := &yubav1.Platform{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "acme"}, Spec: yubav1.PlatformSpec{
		Organization: yubav1.PlatformOrganization{Name: "acme"}, Domain: yubav1.PlatformDomain{FQDN: ns + ".example.org"},
		Library: &yubav1.PlatformLibrary{SourceRef: yubav1.PlatformSourceReference{Kind: "ExternalArtifact", Name: "modules"}},
		Regions: []yubav1.PlatformRegion{{Name: "eu", Provider: "local"}}}}
	// Marked from the start, so that no other controller works on it.
	p.Annotations = map[string]string{moving.AnnotationMoved: moving.Mark{Move: "m", Name: "prod"}.Text()}
	old := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "acme-eu-old", Labels: map[string]string{yubav1.LabelPlatform: "acme"}}}
	old.Spec.SourceRef = &infrav1.CrossNamespaceSourceReference{Kind: "ExternalArtifact", Name: "modules"}
	for _, o := range []client.Object{p, old} {
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	stale := p.DeepCopy()
	stale.Annotations = nil
	r := &Reconciler{Client: c, Direct: c, Now: time.Now}
	steps := plan.Steps(stale, plan.Given{})
	here := func() error { return r.here(t.Context(), stale) }
	for sentence, d := range map[string]decide.Decision{"makes": {Write: []string{steps[0].Stack}}, "removes": {Remove: []string{old.Name}}} {
		if err := r.act(t.Context(), stale, d, steps, []infrav1.Terraform{*old}, here); !apierrors.IsConflict(err) {
			t.Errorf("it %s a stack: %v", sentence, err)
		}
	}
	var stacks infrav1.TerraformList
	if err := c.List(t.Context(), &stacks, client.InNamespace(ns)); err != nil {
		t.Fatal(err)
	}
	if len(stacks.Items) != 1 || stacks.Items[0].Name != old.Name || stacks.Items[0].DeletionTimestamp != nil {
		t.Errorf("the stacks are %v", stacks.Items)
	}
}

// The same for the Secrets that a region needs: "yuba move" copies them.
func TestAPassThatReadAPlatformBeforeItsMarkLeavesItsSecrets(t *testing.T) {
	c, ns := apitest.Client(t), apitest.Namespace(t)
	p := &yubav1.Platform{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "acme"}, Spec: yubav1.PlatformSpec{
		Organization: yubav1.PlatformOrganization{Name: "acme"}, Domain: yubav1.PlatformDomain{FQDN: ns + ".example.org"},
		Library: &yubav1.PlatformLibrary{SourceRef: yubav1.PlatformSourceReference{Kind: "ExternalArtifact", Name: "modules"}},
		Regions: []yubav1.PlatformRegion{{Name: "eu", Provider: "local"}}}}
	p.Annotations = map[string]string{moving.AnnotationHandedOver: moving.Handover{Owner: "ada", Phase: moving.PhaseDone}.Text()}
	kubeconfig := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: plan.SecretName("acme", "eu", plan.KubeconfigSecret),
		Labels: map[string]string{yubav1.LabelPlatform: "acme", yubav1.LabelPlatformRegion: "eu"}}}
	for _, o := range []client.Object{p, kubeconfig} {
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	stale := p.DeepCopy()
	stale.Annotations = nil
	prepared := false
	r := &Reconciler{Client: c, Direct: c, Now: time.Now, Prepare: func(context.Context, *yubav1.Platform, string) error { prepared = true; return nil }}
	here := func() error { return r.here(t.Context(), stale) }
	if err := r.prepare(t.Context(), stale, "eu", here); !apierrors.IsConflict(err) || prepared {
		t.Errorf("prepared %v: %v", prepared, err)
	}
	if err := r.wipe(t.Context(), stale, decide.Decision{}, nil, nil, here); !apierrors.IsConflict(err) {
		t.Errorf("wiped: %v", err)
	}
	var secrets corev1.SecretList
	if err := c.List(t.Context(), &secrets, client.InNamespace(ns), client.MatchingLabels{yubav1.LabelPlatform: "acme"}); err != nil {
		t.Fatal(err)
	}
	if len(secrets.Items) != 1 || secrets.Items[0].UID != kubeconfig.UID || secrets.Items[0].DeletionTimestamp != nil {
		t.Errorf("the Secrets are %v", secrets.Items)
	}
}
