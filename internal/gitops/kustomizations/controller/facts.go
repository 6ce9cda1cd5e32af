// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/decide"
	"github.com/yuba-dev/yuba/internal/kit/expression/healthcheck"
	"github.com/yuba-dev/yuba/internal/kit/moving"
	"github.com/yuba-dev/yuba/internal/objects/engine"
)

// AnnotationConfirmPrune confirms the pruning of many objects; its value is the revision.
const AnnotationConfirmPrune = "yuba.dev/confirm-prune"

// gather reads the facts of a decision, only from caches.
func (r *Reconciler) gather(ctx context.Context, p *pass) error {
	obj := p.obj
	f := &p.facts
	f.Now = p.now
	f.Kustomization = decide.Kustomization{
		Deleting: !obj.DeletionTimestamp.IsZero(), Suspended: obj.Spec.Suspend, Moved: moving.Held(obj),
		Interval: obj.GetRequeueAfter(), RetryInterval: obj.GetRetryInterval(), Timeout: obj.GetTimeout(),
		Handled: obj.Status.LastHandledReconcileAt, Watched: obj.Spec.KubeConfig == nil,
	}
	f.Kustomization.Requested, _ = meta.ReconcileAnnotationValue(obj.GetAnnotations())
	if f.Kustomization.Deleting || f.Kustomization.Suspended || f.Kustomization.Moved != "" {
		return nil
	}
	f.Kustomization.Invalid, f.Kustomization.InvalidReason = invalid(obj)
	if err := r.gatherSource(ctx, p); err != nil {
		return err
	}
	if err := r.gatherDependencies(ctx, p); err != nil {
		return err
	}
	return r.gatherApplied(ctx, p)
}

// invalid returns a problem of the spec, and the reason for the conditions.
func invalid(obj *kustomizev1.Kustomization) (message, reason string) {
	if _, err := healthcheck.New(obj.Spec.HealthCheckExprs); err != nil {
		return fmt.Sprintf("Reconciliation failed terminally due to configuration error: %v", err), meta.InvalidCELExpressionReason
	}
	if k := obj.Spec.KubeConfig; k != nil && k.SecretRef == nil {
		return "spec.kubeConfig.configMapRef requests cloud credentials, which are not supported: use spec.kubeConfig.secretRef", reasonUnsupported
	}
	return "", ""
}

// reasonUnsupported is the reason for features of Flux that Yuba does not support.
const reasonUnsupported = "NotSupported"

// gatherApplied compares the applied objects with the wanted and the current ones.
func (r *Reconciler) gatherApplied(ctx context.Context, p *pass) error {
	key, err := r.wantedKey(ctx, p)
	if err != nil {
		return err
	}
	m := p.memory
	a := &p.facts.Applied
	a.WantedKey = key
	if m == nil {
		return nil
	}
	a.Known, a.Key, a.Failed, a.Lasting, a.At = true, m.key, m.failed, m.lasting, m.at
	a.Drifts, a.Drifted = m.drifts, m.drifted
	a.Freed = r.book.isFreed(p.owner)
	if p.facts.Kustomization.Watched {
		for id, o := range m.objects {
			if r.dirty(id, o) {
				a.Dirty++
			}
		}
	}
	p.facts.Health = r.healthFacts(p)
	return nil
}

// dirty reports whether an object was changed since it was applied.
func (r *Reconciler) dirty(id engine.ID, o engine.Applied) bool {
	if o.Skipped && o.Print.UID == "" {
		return false
	}
	return !r.clusters.watch.AsLeft(id, o.Print)
}

// wantedKey is a digest of everything that the build depends on.
func (r *Reconciler) wantedKey(ctx context.Context, p *pass) (string, error) {
	h := sha256.New()
	obj := p.obj
	fmt.Fprintf(h, "%s\n%d\n%s\n%s\n%s\n%s\n", obj.UID, obj.Generation, p.artifact.digest, p.artifact.revision, p.artifact.origin,
		obj.Annotations[AnnotationConfirmPrune])
	for _, ref := range references(obj) {
		m := &metav1.PartialObjectMetadata{}
		m.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(ref.kind))
		err := r.cached.Get(ctx, client.ObjectKey{Namespace: obj.Namespace, Name: ref.name}, m)
		if err != nil && !apierrors.IsNotFound(err) {
			return "", fmt.Errorf("read %s %s/%s: %w", ref.kind, obj.Namespace, ref.name, err)
		}
		fmt.Fprintf(h, "%s/%s %s %s\n", ref.kind, ref.name, m.UID, m.ResourceVersion)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// reference is a ConfigMap or Secret that a Kustomization reads.
type reference struct{ kind, name string }

func references(obj *kustomizev1.Kustomization) []reference {
	var refs []reference
	add := func(kind, name string) {
		if ref := (reference{kind, name}); name != "" && !slices.Contains(refs, ref) {
			refs = append(refs, ref)
		}
	}
	if b := obj.Spec.PostBuild; b != nil {
		for _, from := range b.SubstituteFrom {
			add(from.Kind, from.Name)
		}
	}
	if d := obj.Spec.Decryption; d != nil && d.SecretRef != nil {
		add("Secret", d.SecretRef.Name)
	}
	if k := obj.Spec.KubeConfig; k != nil && k.SecretRef != nil {
		add("Secret", k.SecretRef.Name)
	}
	return refs
}
