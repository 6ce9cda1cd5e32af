// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"fmt"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/gitops/releases/wire"
)

// valuesError means that values are missing; the user adds them.
type valuesError struct{ message string }

func (e *valuesError) Error() string { return e.message }

// valuesOf returns the parts of the values: those of valuesFrom in their order, and spec.values, which win.
func (r *Reconciler) valuesOf(ctx context.Context, obj *helmv2.HelmRelease) ([]wire.Values, error) {
	var parts []wire.Values
	for _, ref := range obj.Spec.ValuesFrom {
		key := cmp.Or(ref.ValuesKey, "values.yaml")
		name := fmt.Sprintf("%s '%s/%s'", ref.Kind, obj.Namespace, ref.Name)
		data, found, err := r.valuesIn(ctx, ref.Kind, obj.Namespace, ref.Name, key)
		switch {
		case err != nil:
			return nil, fmt.Errorf("read values of %s: %w", name, err)
		case !found && ref.Optional:
			continue
		case !found:
			return nil, &valuesError{fmt.Sprintf("could not resolve %s chart values reference with key '%s': it does not exist, or has no such key", name, key)}
		}
		parts = append(parts, wire.Values{Source: fmt.Sprintf("the key '%s' of %s", key, name), Data: data, TargetPath: ref.TargetPath, Literal: ref.Literal})
	}
	if obj.Spec.Values != nil {
		parts = append(parts, wire.Values{Source: "spec.values", Data: obj.Spec.Values.Raw})
	}
	return parts, nil
}

// valuesIn reads an entry of a ConfigMap or a Secret.
func (r *Reconciler) valuesIn(ctx context.Context, kind, namespace, name, key string) (data []byte, found bool, err error) {
	switch kind {
	case "ConfigMap":
		o := &corev1.ConfigMap{}
		if err = r.Reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, o); err == nil {
			text, ok := o.Data[key]
			if data, found = []byte(text), ok; !ok {
				data, found = o.BinaryData[key], o.BinaryData[key] != nil
			}
		}
	case "Secret":
		o := &corev1.Secret{}
		if err = r.Reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, o); err == nil {
			data, found = o.Data[key], o.Data[key] != nil
		}
	default:
		return nil, false, &valuesError{fmt.Sprintf("spec.valuesFrom.kind %s is not supported: use ConfigMap or Secret", kind)}
	}
	if apierrors.IsNotFound(err) {
		return nil, false, nil
	}
	return data, found, err
}
