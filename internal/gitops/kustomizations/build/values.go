// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/decrypt"
)

// Reader reads ConfigMaps and Secrets of a Kustomization's namespace. For missing ones,
// apierrors.IsNotFound is true for the error.
type Reader interface {
	// ConfigMap returns a ConfigMap's data.
	ConfigMap(ctx context.Context, namespace, name string) (map[string]string, error)
	// Secret returns a Secret's data.
	Secret(ctx context.Context, namespace, name string) (map[string][]byte, error)
}

// FromAPI reads ConfigMaps and Secrets through a client.
func FromAPI(c client.Reader) Reader { return apiReader{c} }

type apiReader struct{ client client.Reader }

func (r apiReader) ConfigMap(ctx context.Context, namespace, name string) (map[string]string, error) {
	object := &corev1.ConfigMap{}
	if err := r.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object); err != nil {
		return nil, err
	}
	return object.Data, nil
}

func (r apiReader) Secret(ctx context.Context, namespace, name string) (map[string][]byte, error) {
	object := &corev1.Secret{}
	if err := r.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object); err != nil {
		return nil, err
	}
	return object.Data, nil
}

// variableName matches the name in ${…}.
var variableName = regexp.MustCompile(`^[_[:alpha:]][_[:alpha:][:digit:]]*$`)

// variables returns the values of postBuild. Later entries of substituteFrom override earlier ones,
// and substitute overrides all. As in Flux, line breaks are removed.
func (in Input) variables(ctx context.Context) (map[string]string, error) {
	vars := make(map[string]string)
	post := in.Object.Spec.PostBuild
	if in.Values != nil {
		for _, ref := range post.SubstituteFrom {
			values, err := in.referenced(ctx, ref)
			if err != nil {
				return nil, err
			}
			for name, value := range values {
				if !variableName.MatchString(name) {
					return nil, fmt.Errorf("variables of spec.postBuild.substituteFrom: %s %s has the key %q, which cannot be a variable's name: letters, digits and _ only, no digit first",
						ref.Kind, ref.Name, name)
				}
				vars[name] = oneLine(value)
			}
		}
	}
	for name, value := range post.Substitute {
		if !variableName.MatchString(name) {
			return nil, fmt.Errorf("variables of spec.postBuild.substitute: %q cannot be a variable's name: letters, digits and _ only, no digit first", name)
		}
		vars[name] = oneLine(value)
	}
	return vars, nil
}

func oneLine(value string) string { return strings.ReplaceAll(value, "\n", "") }

// referenced reads one entry of substituteFrom.
func (in Input) referenced(ctx context.Context, ref kustomizev1.SubstituteReference) (map[string]string, error) {
	namespace := in.Object.Namespace
	var values map[string]string
	var err error
	switch ref.Kind {
	case "ConfigMap":
		values, err = in.Values.ConfigMap(ctx, namespace, ref.Name)
	case "Secret":
		var data map[string][]byte
		data, err = in.Values.Secret(ctx, namespace, ref.Name)
		values = make(map[string]string, len(data))
		for name, value := range data {
			values[name] = string(value)
		}
	default:
		return nil, fmt.Errorf("variables of spec.postBuild.substituteFrom: kind %q is neither ConfigMap nor Secret", ref.Kind)
	}
	if err != nil {
		if ref.Optional && apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("variables of spec.postBuild.substituteFrom: read %s %s/%s: %w", ref.Kind, namespace, ref.Name, err)
	}
	return values, nil
}

// keys returns the keys of spec.decryption; nil if nothing is to be decrypted.
func (in Input) keys(ctx context.Context, opener decrypt.Opener) (*decrypt.Keys, error) {
	spec := in.Object.Spec.Decryption
	if spec == nil || in.Values == nil || in.KeepEncrypted {
		return nil, nil
	}
	if spec.Provider != decrypt.Provider {
		return nil, fmt.Errorf("spec.decryption.provider %q is not supported; use %q", spec.Provider, decrypt.Provider)
	}
	if spec.SecretRef == nil {
		return decrypt.NewKeys("", nil, opener)
	}
	data, err := in.keyData(ctx)
	if err != nil {
		return nil, err
	}
	return decrypt.NewKeys("Secret "+in.Object.Namespace+"/"+spec.SecretRef.Name, data, opener)
}

// keyData reads the Secret of spec.decryption.
func (in Input) keyData(ctx context.Context) (map[string][]byte, error) {
	namespace, name := in.Object.Namespace, in.Object.Spec.Decryption.SecretRef.Name
	data, err := in.Values.Secret(ctx, namespace, name)
	if err != nil {
		return nil, fmt.Errorf("keys of spec.decryption: read Secret %s/%s: %w", namespace, name, err)
	}
	return data, nil
}
