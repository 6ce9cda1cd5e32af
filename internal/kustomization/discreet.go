// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package kustomization

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"

	"github.com/yuba-dev/yuba/internal/kustomization/build"
)

// sensitive stands for what a Secret has.
const sensitive = "(sensitive)"

// minHidden is how long a value is at least that is hidden: shorter ones are in every other word.
const minHidden = 4

// discreet hides in a text what postBuild took from Secrets. The API quotes what it does not accept, and whoever may see
// a Kustomization need not be able to read the Secrets that its objects were filled from.
func (r *Reconciler) discreet(ctx context.Context, obj *kustomizev1.Kustomization, text string) string {
	if obj.Spec.PostBuild == nil {
		return text
	}
	var values []string
	for _, ref := range obj.Spec.PostBuild.SubstituteFrom {
		if ref.Kind != "Secret" {
			continue
		}
		data, err := build.FromAPI(r.Reader).Secret(ctx, obj.Namespace, ref.Name)
		if err != nil {
			continue // One that is not there, or cannot be read, filled nothing.
		}
		for _, value := range data {
			values = append(values, strings.ReplaceAll(string(value), "\n", ""))
		}
	}
	return hidden(text, values)
}

// hidden replaces values in a text, as they are and as they are quoted. Long ones go first: one may contain another.
func hidden(text string, values []string) string {
	slices.SortFunc(values, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for _, value := range values {
		if len(value) < minHidden {
			continue
		}
		text = strings.ReplaceAll(text, value, sensitive)
		if quoted := strings.Trim(strconv.Quote(value), `"`); quoted != value {
			text = strings.ReplaceAll(text, quoted, sensitive)
		}
	}
	return text
}
