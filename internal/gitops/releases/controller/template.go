// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"fmt"
	"maps"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The labels of a HelmChart name the HelmRelease that it is for.
const (
	labelName      = "helm.toolkit.fluxcd.io/name"
	labelNamespace = "helm.toolkit.fluxcd.io/namespace"
)

// chartName returns the source of the chart, and creates the HelmChart of spec.chart. The kind is empty
// if the facts say why there is none.
func (r *Reconciler) chartName(ctx context.Context, p *pass) (kind string, name types.NamespacedName, err error) {
	obj := p.obj
	if ref := obj.Spec.ChartRef; ref != nil {
		if err := r.removeChart(ctx, obj); err != nil {
			return "", name, err
		}
		name = nameOf(cmp.Or(ref.Namespace, obj.Namespace), ref.Name)
		if r.denies(p, ref.Kind, name) {
			return "", name, nil
		}
		return ref.Kind, name, nil
	}
	name = nameOf(obj.Spec.Chart.GetNamespace(obj.Namespace), obj.GetHelmChartName())
	if r.denies(p, obj.Spec.Chart.Spec.SourceRef.Kind, nameOf(name.Namespace, obj.Spec.Chart.Spec.SourceRef.Name)) {
		return "", name, nil
	}
	if obj.Status.HelmChart != "" && obj.Status.HelmChart != name.String() {
		if err := r.removeChart(ctx, obj); err != nil {
			return "", name, err
		}
	}
	err = r.keepChart(ctx, obj, name)
	if apierrors.IsInvalid(err) {
		p.facts.Chart.Missing = fmt.Sprintf("create the HelmChart of spec.chart: %s", err)
		return "", name, nil
	}
	return sourcev1.HelmChartKind, name, err
}

// denies refuses sources in other namespaces, unless the server allows them.
func (r *Reconciler) denies(p *pass, kind string, name types.NamespacedName) bool {
	if name.Namespace == p.obj.Namespace || r.AllowCrossNamespace {
		return false
	}
	p.facts.Chart.Denied = fmt.Sprintf("can't access '%s/%s', cross-namespace references have been blocked; --allow-cross-namespace of the server allows them", kind, name)
	return true
}

// keepChart creates or updates the HelmChart of spec.chart.
func (r *Reconciler) keepChart(ctx context.Context, obj *helmv2.HelmRelease, name types.NamespacedName) error {
	wanted := chartOf(obj, name)
	is := &sourcev1.HelmChart{}
	err := r.fresh.Get(ctx, name, is)
	if apierrors.IsNotFound(err) {
		if err := r.Client.Create(ctx, wanted, client.FieldOwner(manager)); err != nil {
			return fmt.Errorf("create the HelmChart %s: %w", name, err)
		}
		r.fresh.Wrote(wanted)
	} else if err != nil {
		return fmt.Errorf("read the HelmChart %s: %w", name, err)
	} else if !equality.Semantic.DeepEqual(wanted.Spec, is.Spec) || !contains(is.Labels, wanted.Labels) || !contains(is.Annotations, wanted.Annotations) {
		changed := is.DeepCopy()
		changed.Spec = wanted.Spec
		changed.Labels, changed.Annotations = merged(is.Labels, wanted.Labels), merged(is.Annotations, wanted.Annotations)
		if err := r.Client.Update(ctx, changed, client.FieldOwner(manager)); err != nil {
			return fmt.Errorf("update the HelmChart %s: %w", name, err)
		}
		r.fresh.Wrote(changed)
	}
	obj.Status.HelmChart = name.String()
	return nil
}

// manager is the field manager of Flux's helm-controller.
const manager = "helm-controller"

// chartOf is the HelmChart of spec.chart.
func chartOf(obj *helmv2.HelmRelease, name types.NamespacedName) *sourcev1.HelmChart {
	t := obj.Spec.Chart
	c := &sourcev1.HelmChart{}
	c.Namespace, c.Name = name.Namespace, name.Name
	if t.ObjectMeta != nil {
		c.Labels, c.Annotations = maps.Clone(t.ObjectMeta.Labels), maps.Clone(t.ObjectMeta.Annotations)
	}
	c.Labels = merged(c.Labels, map[string]string{labelName: obj.Name, labelNamespace: obj.Namespace})
	c.Spec = sourcev1.HelmChartSpec{Chart: t.Spec.Chart, Version: cmp.Or(t.Spec.Version, "*"),
		SourceRef: sourcev1.LocalHelmChartSourceReference{Name: t.Spec.SourceRef.Name, Kind: t.Spec.SourceRef.Kind},
		Interval:  t.GetInterval(obj.Spec.Interval), ReconcileStrategy: cmp.Or(t.Spec.ReconcileStrategy, sourcev1.ReconcileStrategyChartVersion),
		ValuesFiles: t.Spec.ValuesFiles, IgnoreMissingValuesFiles: t.Spec.IgnoreMissingValuesFiles}
	if v := t.Spec.Verify; v != nil {
		c.Spec.Verify = &sourcev1.HelmChartVerification{Provider: v.Provider, SecretRef: v.SecretRef}
	}
	return c
}

// removeChart deletes the HelmChart that the status names, if it is that of this HelmRelease.
func (r *Reconciler) removeChart(ctx context.Context, obj *helmv2.HelmRelease) error {
	namespace, name := obj.Status.GetHelmChart()
	if name == "" {
		return nil
	}
	c := &sourcev1.HelmChart{}
	err := r.fresh.Get(ctx, nameOf(namespace, name), c)
	if err == nil && c.Labels[labelName] == obj.Name && c.Labels[labelNamespace] == obj.Namespace {
		err = r.Client.Delete(ctx, c)
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete the HelmChart %s/%s: %w", namespace, name, err)
	}
	obj.Status.HelmChart = ""
	return nil
}

func contains(is, wanted map[string]string) bool {
	for k, v := range wanted {
		if have, ok := is[k]; !ok || have != v {
			return false
		}
	}
	return true
}

func merged(is, wanted map[string]string) map[string]string {
	if len(is) == 0 && len(wanted) == 0 {
		return nil
	}
	all := map[string]string{}
	maps.Copy(all, is)
	maps.Copy(all, wanted)
	return all
}
