// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package sealing

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/cli/session"
)

// addObject adds an object as a manifest that can be applied again, with its status for readers.
func (p *packer) addObject(name string, o client.Object) error {
	if p.written[name] {
		return nil
	}
	p.written[name] = true
	text, err := manifestOf(o)
	if err != nil {
		return err
	}
	return p.AddBytes(name, text)
}

// manifestOf is an object as YAML, without what only its API knows.
func manifestOf(o client.Object) ([]byte, error) {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, err
	}
	if metadata, ok := object["metadata"].(map[string]any); ok {
		for _, field := range []string{"managedFields", "resourceVersion", "selfLink"} {
			delete(metadata, field)
		}
	}
	return yaml.Marshal(object)
}

// addReferences adds the source of a stack, and with --inputs the Secrets and ConfigMaps that it names.
func (p *packer) addReferences(ctx context.Context, t *infrav1.Terraform) error {
	if ref := t.Spec.SourceRef; ref != nil {
		if kind, ok := session.KindNamed(ref.Kind); ok {
			if err := p.addNamed(ctx, kind.GVK, t.SourceNamespace(), ref.Name); err != nil {
				return err
			}
		}
	}
	if platform := t.Labels[labelPlatform]; platform != "" && !p.written[objectName(yubav1.PlatformKind, t.Namespace, platform)] {
		if err := p.addNamed(ctx, session.Platforms.GVK, t.Namespace, platform); err != nil {
			return err
		}
	}
	if !p.inputs {
		return nil
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(t)
	if err != nil {
		return err
	}
	named := referencesOf(object)
	for _, name := range named.secretNames() {
		if err := p.addNamed(ctx, corev1.SchemeGroupVersion.WithKind("Secret"), t.Namespace, name); err != nil {
			return err
		}
	}
	for _, name := range named.configMapNames() {
		if err := p.addNamed(ctx, corev1.SchemeGroupVersion.WithKind("ConfigMap"), t.Namespace, name); err != nil {
			return err
		}
	}
	return nil
}

func objectName(kind, namespace, name string) string {
	return "objects/" + namespace + "/" + kind + "/" + name + ".yaml"
}

// addNamed adds an object that may be missing.
func (p *packer) addNamed(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) error {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(gvk)
	err := p.Objects.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, o)
	if apierrors.IsNotFound(err) {
		p.News("%s %s/%s does not exist, and is not in the archive.", gvk.Kind, namespace, name)
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s %s/%s: %w", gvk.Kind, namespace, name, err)
	}
	return p.addObject(objectName(gvk.Kind, namespace, name), o)
}

// namingKinds are the kinds of a namespace that may name a Secret, also those that have commands of their own.
func namingKinds() []session.Kind {
	return append(slices.Clone(session.AllKinds), session.Platforms, session.FailoverRecords, session.SubdomainPools)
}

// addNamespace adds the other objects that Yuba and Flux work on in a namespace, none of which is a
// Secret.
func (p *packer) addNamespace(ctx context.Context, namespace string) error {
	for _, kind := range namingKinds() {
		if kind.GVK == session.StackKind {
			continue
		}
		list, _, err := p.ListObjects(ctx, kind, namespace)
		if err != nil {
			if apierrors.IsNotFound(err) {
				continue // this API does not serve the kind
			}
			return err
		}
		for _, o := range list {
			if err := p.addObject(objectName(kind.GVK.Kind, namespace, o.GetName()), o); err != nil {
				return err
			}
		}
	}
	return nil
}
