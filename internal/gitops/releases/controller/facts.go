// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/gitops/releases/decide"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/expression/healthcheck"
	"github.com/yuba-dev/yuba/internal/kit/moving"
)

// retryEvery is the pause after a failed attempt that may succeed later.
const retryEvery = 30 * time.Second

// artifact is a chart's artifact.
type artifact struct {
	digest, revision string
	// oci is the digest of the chart in a registry, which Flux appends to the version.
	oci string
}

// gather gathers the facts of a pass, and keeps the HelmChart of spec.chart up to date.
func (r *Reconciler) gather(ctx context.Context, p *pass) error {
	obj, f := p.obj, &p.facts
	*f = decide.Facts{Now: r.Now(), Deleting: !obj.DeletionTimestamp.IsZero(), Suspended: obj.Spec.Suspend, Moved: moving.Held(obj),
		Interval: obj.Spec.Interval.Duration, Retry: min(retryEvery, obj.Spec.Interval.Duration), Handled: obj.Status.LastHandledReconcileAt}
	f.Requested, _ = meta.ReconcileAnnotationValue(obj.GetAnnotations())
	f.Busy, f.Removing, f.Last = r.memories.facts(p.name, obj.UID)
	if f.Busy || f.Deleting || f.Suspended || f.Moved != "" {
		return nil
	}
	if f.Invalid, f.InvalidReason = r.invalid(obj); f.Invalid != "" {
		return nil
	}
	if err := r.gatherChart(ctx, p); err != nil {
		return err
	}
	if err := r.gatherDependencies(ctx, p); err != nil {
		return err
	}
	return r.gatherKey(ctx, p)
}

// invalid says what no server can do.
func (r *Reconciler) invalid(obj *helmv2.HelmRelease) (message, reason string) {
	switch {
	case obj.Spec.Chart == nil && obj.Spec.ChartRef == nil:
		return "spec has neither chart nor chartRef", "InvalidSpec"
	case obj.Spec.KubeConfig == nil && obj.Spec.ServiceAccountName == "" && r.DefaultServiceAccount == "":
		return "spec.serviceAccountName is missing. A release on this API is installed with the rights of a service account, never with the server's. Create one, and grant it access to the chart's objects:\n" +
			"    yuba kubectl create serviceaccount NAME -n " + obj.Namespace, "AccessDenied"
	}
	if _, err := healthcheck.New(obj.Spec.HealthCheckExprs); err != nil {
		return err.Error(), "InvalidCELExpression"
	}
	return "", ""
}

// gatherChart finds the chart's artifact.
func (r *Reconciler) gatherChart(ctx context.Context, p *pass) error {
	kind, name, err := r.chartName(ctx, p)
	if kind == "" || err != nil {
		return err
	}
	f := &p.facts.Chart
	f.Name = kind + " " + name.String()
	var source interface {
		client.Object
		GetArtifact() *meta.Artifact
		GetConditions() []metav1.Condition
		SetConditions([]metav1.Condition)
	}
	observed := int64(0)
	switch kind {
	case sourcev1.HelmChartKind:
		source = &sourcev1.HelmChart{}
	case sourcev1.OCIRepositoryKind:
		source = &sourcev1.OCIRepository{}
	case sourcev1.ExternalArtifactKind:
		source = &externalArtifact{ExternalArtifact: &sourcev1.ExternalArtifact{}}
	default:
		f.Missing = fmt.Sprintf("spec.chartRef.kind %s is not supported: use OCIRepository, HelmChart or ExternalArtifact", kind)
		return nil
	}
	into := client.Object(source)
	if e, ok := source.(*externalArtifact); ok {
		into = e.ExternalArtifact
	}
	err = r.fresh.Get(ctx, name, into)
	if apierrors.IsNotFound(err) {
		f.Missing = fmt.Sprintf("%s '%s' does not exist", kind, name)
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s %s: %w", kind, name, err)
	}
	switch o := into.(type) {
	case *sourcev1.HelmChart:
		observed = o.Status.ObservedGeneration
	case *sourcev1.OCIRepository:
		observed = o.Status.ObservedGeneration
	default:
		observed = into.GetGeneration()
	}
	a := source.GetArtifact()
	ready := conditions.Of(source, meta.ReadyCondition)
	switch {
	case observed != into.GetGeneration():
		f.Waiting = fmt.Sprintf("%s '%s' is not ready: latest generation of object has not been reconciled", kind, name)
	case a == nil:
		f.Waiting = fmt.Sprintf("%s '%s' is not ready: %s", kind, name, cmp.Or(ready.Message, "does not have an artifact"))
	case kind == sourcev1.HelmChartKind && ready.Status == metav1.ConditionFalse:
		f.Waiting = fmt.Sprintf("%s '%s' is not ready: %s", kind, name, ready.Message)
	default:
		p.chart = artifact{digest: a.Digest, revision: a.Revision}
		if kind == sourcev1.OCIRepositoryKind {
			_, p.chart.oci, _ = strings.Cut(a.Revision, "@")
		}
	}
	return nil
}

// externalArtifact has the methods of other sources.
type externalArtifact struct{ *sourcev1.ExternalArtifact }

func (e *externalArtifact) GetArtifact() *meta.Artifact        { return e.Status.Artifact }
func (e *externalArtifact) GetConditions() []metav1.Condition  { return e.Status.Conditions }
func (e *externalArtifact) SetConditions(c []metav1.Condition) { e.Status.Conditions = c }

// reference is an object that a release reads.
type reference struct{ kind, name string }

// references are the ConfigMaps and Secrets of a HelmRelease.
func references(obj *helmv2.HelmRelease) []reference {
	var refs []reference
	add := func(kind, name string) {
		if ref := (reference{kind, name}); name != "" && !slices.Contains(refs, ref) {
			refs = append(refs, ref)
		}
	}
	for _, from := range obj.Spec.ValuesFrom {
		add(from.Kind, from.Name)
	}
	if k := obj.Spec.KubeConfig; k != nil && k.SecretRef != nil {
		add("Secret", k.SecretRef.Name)
	}
	if k := obj.Spec.KubeConfig; k != nil && k.ConfigMapRef != nil {
		add("ConfigMap", k.ConfigMapRef.Name)
	}
	return refs
}

// gatherKey computes the digest of all inputs.
func (r *Reconciler) gatherKey(ctx context.Context, p *pass) error {
	h, obj := sha256.New(), p.obj
	fmt.Fprintf(h, "%s\n%d\n%s\n%s\n", obj.UID, obj.Generation, p.chart.digest, p.chart.revision)
	for _, ref := range references(obj) {
		m := &metav1.PartialObjectMetadata{}
		m.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(ref.kind))
		err := r.cached.Get(ctx, client.ObjectKey{Namespace: obj.Namespace, Name: ref.name}, m)
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("read %s %s/%s: %w", ref.kind, obj.Namespace, ref.name, err)
		}
		fmt.Fprintf(h, "%s/%s %s %s\n", ref.kind, ref.name, m.UID, m.ResourceVersion)
	}
	p.facts.Key = hex.EncodeToString(h.Sum(nil))
	return nil
}

// asLeft reports whether nothing but the interval asks for an attempt, and the stored release is as the
// last one left it.
func (r *Reconciler) asLeft(ctx context.Context, p *pass) bool {
	f := p.facts
	if !f.Last.Known || f.Last.Key != f.Key || f.Requested != f.Handled || p.obj.Spec.KubeConfig != nil || p.obj.GetDriftDetection().MustDetectChanges() {
		return false
	}
	was, ok := r.memories.left(p.name, p.obj.UID)
	return ok && was == r.storedNow(ctx, p.obj)
}

// storedNow identifies the stored release on our own API, without a request.
func (r *Reconciler) storedNow(ctx context.Context, obj *helmv2.HelmRelease) string {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	err := r.cached.List(ctx, list, client.InNamespace(placeOf(obj).Storage), client.MatchingLabels{"owner": "helm", "name": placeOf(obj).Name}, client.UnsafeDisableDeepCopy)
	if err != nil || len(list.Items) == 0 {
		return ""
	}
	var names []string
	for _, s := range list.Items {
		names = append(names, s.Name+" "+s.ResourceVersion)
	}
	slices.Sort(names)
	return strings.Join(names, "\n")
}

func nameOf(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}
