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

// discreet masks values from Secrets: errors quote them, and readers may lack access to them.
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
			continue // its values were not used
		}
		for _, value := range data {
			secrets.Add(string(value))
			secrets.Add(strings.ReplaceAll(string(value), "\n", "")) // as it is substituted
		}
	}
	return secrets.Masker(mask.Mark).Text(text)
}
