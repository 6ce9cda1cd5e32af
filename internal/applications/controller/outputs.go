// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/tofu/inputs"
)

// maxOutputs bounds the outputs in a status, in bytes: it is in every list of instances.
const maxOutputs = 64 << 10

// typeSuffix ends the key with the type of another key's value, which is JSON then.
const typeSuffix = "__type"

// showOutputs brings the outputs in the status up to date. It reads the Secret only when the stack says
// that it has changed, or when the status has not what was taken from the Secret: others may have written
// it, and after a restart nobody knows.
func (p *pass) showOutputs(ctx context.Context, s *appv1.InstanceStatus) error {
	t := p.stack
	if t.Status.OutputsSecret == "" || t.Spec.WriteOutputsToSecret == nil {
		s.Outputs, s.OutputsSecretRef, s.OutputsDigest = nil, nil, ""
		return nil
	}
	s.OutputsSecretRef = &appv1.SecretReference{Name: t.Status.OutputsSecret}
	digest := t.Status.OutputsDigest + " " + t.Status.OpenOutputsDigest
	if s.OutputsDigest == digest && digestOf(s.Outputs) == p.memory.get(p.key).shown {
		return nil
	}
	secret := &corev1.Secret{}
	err := p.Reader.Get(ctx, client.ObjectKey{Namespace: t.Namespace, Name: t.Status.OutputsSecret}, secret)
	if apierrors.IsNotFound(err) {
		s.Outputs, s.OutputsDigest = nil, ""
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the outputs of %s: %w", p.key, err)
	}
	outputs, ok := openOutputs(t, secret)
	if !ok {
		p.again = behind * 10 // the Secret, or what memory has of the stack, is older
		return nil
	}
	s.Outputs, s.OutputsDigest = outputs, digest
	shown := digestOf(outputs)
	p.memory.change(p.key, func(m *memo) { m.shown = shown })
	return nil
}

// digestOf is the digest of outputs, however their JSON is written.
func digestOf(outputs map[string]apiextensionsv1.JSON) [sha256.Size]byte {
	values := make(map[string]any, len(outputs))
	for name, value := range outputs {
		var v any
		if utiljson.Unmarshal(value.Raw, &v) == nil {
			values[name] = v
		}
	}
	content, _ := json.Marshal(values) //nolint:errchkjson // they came as JSON
	return sha256.Sum256(content)
}

// openOutputs are the outputs of a Secret that are allow-listed and not sensitive. ok is false if the
// stack does not confirm that the Secret is as it wrote it.
func openOutputs(t *infrav1.Terraform, secret *corev1.Secret) (outputs map[string]apiextensionsv1.JSON, ok bool) {
	note := secret.Annotations[infrav1.OpenOutputsAnnotation]
	known, ok := inputs.OpenOutputsOf(secret)
	if !ok || t.Status.OpenOutputsDigest != t.SealOfOpenOutputs(note) {
		return nil, false
	}
	size, names := 0, t.Spec.WriteOutputsToSecret.Outputs
	if len(names) == 0 {
		names = known.Open // the Secret has all outputs
	}
	for _, name := range names {
		if !slices.Contains(known.Open, name) {
			continue
		}
		value := secret.Data[name]
		if _, typed := secret.Data[name+typeSuffix]; !typed {
			text, err := json.Marshal(string(value))
			if err != nil {
				continue
			}
			value = text
		} else if !json.Valid(value) {
			continue
		}
		if size += len(value); size > maxOutputs {
			break
		}
		if outputs == nil {
			outputs = map[string]apiextensionsv1.JSON{}
		}
		outputs[name] = apiextensionsv1.JSON{Raw: value}
	}
	return outputs, true
}
