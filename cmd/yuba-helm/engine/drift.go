// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/ssa/jsondiff"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/gitops/releases/wire"
)

// exclusion marks objects whose drift is ignored, as in Flux.
var exclusion = jsondiff.ExclusionSelector{"helm.toolkit.fluxcd.io/driftDetection": "disabled"}

// namespaceOf returns the namespace of a rendered object: its own, or the release's.
func (o *operation) namespaceOf(object *unstructured.Unstructured) string {
	mapper, err := o.cluster.ToRESTMapper()
	if err != nil {
		return object.GetNamespace()
	}
	gvk := object.GroupVersionKind()
	mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	switch {
	case err == nil && mapping.Scope.Name() == meta.RESTScopeNameRoot:
		return ""
	case object.GetNamespace() == "":
		return o.call.Release.Namespace
	}
	return object.GetNamespace()
}

// compare finds the objects of the last release that differ in the cluster, and corrects them if the
// call says so.
func (o *operation) compare(ctx context.Context, result *wire.Result) error {
	last, err := o.last()
	if err != nil {
		return err
	}
	objects, err := decode([]byte(last.Manifest))
	if err != nil {
		return err
	}
	for _, object := range objects {
		object.SetNamespace(o.namespaceOf(object))
		object.SetLabels(join(object.GetLabels(), map[string]string{"app.kubernetes.io/managed-by": "Helm"}))
		object.SetAnnotations(join(object.GetAnnotations(), map[string]string{"meta.helm.sh/release-name": last.Name, "meta.helm.sh/release-namespace": last.Namespace}))
	}
	c, err := o.client()
	if err != nil {
		return err
	}
	rules, err := ignoring(o.call.Ignore)
	if err != nil {
		return err
	}
	found, err := jsondiff.UnstructuredList(ctx, c, objects, jsondiff.FieldOwner(fieldManager), exclusion, jsondiff.MaskSecrets(false), jsondiff.Rationalize(true), jsondiff.Graceful(true), jsondiff.IgnoreRules(rules))
	if err != nil {
		return fmt.Errorf("compare the release with the cluster: %w", err)
	}
	for _, d := range found {
		if d.Type != jsondiff.DiffTypeCreate && d.Type != jsondiff.DiffTypeUpdate {
			continue
		}
		gvk := d.GroupVersionKind()
		drift := wire.Drift{Object: wire.Object{Namespace: d.GetNamespace(), Name: d.GetName(), Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind}, Missing: d.Type == jsondiff.DiffTypeCreate}
		for _, p := range d.Patch {
			drift.Paths = append(drift.Paths, p.Path)
		}
		result.Drift = append(result.Drift, drift)
		if o.call.Operation == wire.Correct {
			if err := correct(ctx, c, d); err != nil {
				return fmt.Errorf("correct %s %s/%s: %w", gvk.Kind, d.GetNamespace(), d.GetName(), err)
			}
		}
	}
	return nil
}

// correct creates or patches one object. Only the fields that differ are written.
func correct(ctx context.Context, c client.Client, d *jsondiff.Diff) error {
	if d.Type == jsondiff.DiffTypeCreate {
		object, ok := d.DesiredObject.DeepCopyObject().(client.Object)
		if !ok {
			return fmt.Errorf("%T is not an object. This is a bug in Yuba", d.DesiredObject)
		}
		err := c.Create(ctx, object, client.FieldOwner(fieldManager))
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	}
	patch, err := json.Marshal(d.Patch)
	if err != nil {
		return err
	}
	return client.IgnoreNotFound(c.Patch(ctx, d.ClusterObject, client.RawPatch(types.JSONPatchType, patch), client.FieldOwner(fieldManager)))
}

func (o *operation) client() (client.Client, error) {
	config, err := o.cluster.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	mapper, err := o.cluster.ToRESTMapper()
	if err != nil {
		return nil, err
	}
	return client.New(config, client.Options{Scheme: runtime.NewScheme(), Mapper: mapper})
}

// ignoring returns the rules of a call; those of spec.driftDetection.ignore.
func ignoring(list []wire.Ignore) ([]jsondiff.IgnoreRule, error) {
	var rules []jsondiff.IgnoreRule
	for _, i := range list {
		rule := jsondiff.IgnoreRule{Paths: i.Paths}
		if len(i.Target) > 0 {
			var s kustomize.Selector
			if err := json.Unmarshal(i.Target, &s); err != nil {
				return nil, failed(wire.FailedValues, "read spec.driftDetection.ignore: %w", err)
			}
			rule.Selector = &jsondiff.Selector{Group: s.Group, Version: s.Version, Kind: s.Kind, Name: s.Name, Namespace: s.Namespace, AnnotationSelector: s.AnnotationSelector, LabelSelector: s.LabelSelector}
		}
		rules = append(rules, rule)
	}
	return rules, nil
}
