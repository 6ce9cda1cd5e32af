// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"strings"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"

	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/build"
	"github.com/yuba-dev/yuba/internal/kit/mask"
)

// discreet hides in a text what postBuild took from Secrets. The API quotes what it does not accept, and whoever may see
// a Kustomization need not be able to read the Secrets that its objects were filled from.
func (r *Reconciler) discreet(ctx context.Context, obj *kustomizev1.Kustomization, text string) string {
	if obj.Spec.PostBuild == nil {
		return text
	}
	secrets := mask.New()
	for _, ref := range obj.Spec.PostBuild.SubstituteFrom {
		if ref.Kind != "Secret" {
			continue
		}
		data, err := build.FromAPI(r.Reader).Secret(ctx, obj.Namespace, ref.Name)
		if err != nil {
			continue // One that is not there, or cannot be read, filled nothing.
		}
		for _, value := range data {
			secrets.Add(string(value))
			secrets.Add(strings.ReplaceAll(string(value), "\n", "")) // as it is substituted
		}
	}
	return secrets.Masker(mask.Mark).Text(text)
}
