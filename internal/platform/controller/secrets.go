// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/platform/decide"
	"github.com/yuba-dev/yuba/internal/platform/plan"
)

// regionSecrets are the Secrets of a region that Yuba makes: the tokens of its machines, and the kubeconfig that they hand
// over.
var regionSecrets = []string{plan.TokenSecret, plan.KubeconfigSecret}

// foreign names a Secret that a region needs and that somebody else made; empty if there is none. What is in it is not
// known, and it would be overwritten.
func (r *Reconciler) foreign(ctx context.Context, p *yubav1.Platform, region string) (string, error) {
	for _, what := range regionSecrets {
		m := &metav1.PartialObjectMetadata{}
		m.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
		key := client.ObjectKey{Namespace: p.Namespace, Name: plan.SecretName(p.Name, region, what)}
		err := r.Client.Get(ctx, key, m)
		if client.IgnoreNotFound(err) != nil {
			return "", fmt.Errorf("read the Secret %s: %w", key, err)
		}
		if err == nil && (m.Labels[yubav1.LabelPlatform] != p.Name || m.Labels[yubav1.LabelPlatformRegion] != region) {
			return key.Name, nil
		}
	}
	return "", nil
}

// wipe deletes the Secrets of regions whose machines are gone. They are of no use, and the next machines must get others:
// a node with an old token is refused, and an old kubeconfig leads nowhere.
func (r *Reconciler) wipe(ctx context.Context, p *yubav1.Platform, d decide.Decision, steps []plan.Step, stacks []infrav1.Terraform, here func() error) error {
	if !p.Spec.Decommission && p.Spec.Removal == yubav1.RemovalKeep {
		return nil // machines that were kept are still there
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	if err := r.Client.List(ctx, list, client.InNamespace(p.Namespace), client.MatchingLabels{yubav1.LabelPlatform: p.Name}); err != nil {
		return fmt.Errorf("list the Secrets of the platform %s: %w", p.Name, err)
	}
	used := withMachines(p, d, steps, stacks)
	for i := range list.Items {
		m := &list.Items[i]
		region := m.Labels[yubav1.LabelPlatformRegion]
		if used[region] || !isRegionSecret(p, region, m.Name) {
			continue
		}
		if err := here(); err != nil { // they may be what "yuba move" copies now
			return err
		}
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name}}
		if err := r.Direct.Delete(ctx, secret, client.Preconditions{UID: &m.UID}); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return fmt.Errorf("delete the Secret %s of the region %s, whose machines are gone: %w", m.Name, region, err)
		}
	}
	return nil
}

func isRegionSecret(p *yubav1.Platform, region, name string) bool {
	for _, what := range regionSecrets {
		if name == plan.SecretName(p.Name, region, what) {
			return true
		}
	}
	return false
}

// withMachines are the regions that have machines, or get them. Those whose stack somebody else runs now have them, too.
func withMachines(p *yubav1.Platform, d decide.Decision, steps []plan.Step, stacks []infrav1.Terraform) map[string]bool {
	here := map[string]bool{}
	for _, s := range steps {
		if s.Phase == yubav1.PhaseMachines && !p.Spec.Decommission {
			here[s.Region] = true
		}
	}
	for i := range stacks {
		if stacks[i].Labels[yubav1.LabelPlatformPhase] == string(yubav1.PhaseMachines) {
			here[stacks[i].Labels[yubav1.LabelPlatformRegion]] = true
		}
	}
	for _, phase := range d.Phases {
		if phase.Phase == yubav1.PhaseMachines && phase.State == yubav1.PhaseAway {
			here[phase.Region] = true
		}
	}
	return here
}
