// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package versions

import (
	"cmp"
	"maps"
	"strings"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
	"github.com/yuba-dev/yuba/internal/web/site"
	"github.com/yuba-dev/yuba/internal/web/standing"
)

// The kinds of uses that objects tell, beside those that runs do.
const (
	kindSource = "source"
	kindChart  = "chart"
	kindImage  = "image"
)

// imagesOf are the uses of images by one object. says is what else is known of all of them.
func imagesOf(found []image, of use, says string) []use {
	uses := make([]use, 0, len(found))
	for _, one := range found {
		u := of
		u.Kind, u.Source, u.Version = kindImage, one.Name, one.Version
		u.Says = strings.TrimPrefix(says+", "+one.From, ", ")
		uses = append(uses, u)
	}
	return uses
}

// stackImages are the images that the variables of a stack name. What a Secret, a ConfigMap or
// another stack supplies is not known here.
func stackImages(t *infrav1.Terraform, by string) []use {
	inputs := map[string]any{}
	if v := t.Spec.Values; v != nil {
		if values, is := decoded("", v.Raw).(map[string]any); is {
			maps.Copy(inputs, values)
		}
	}
	for i := range t.Spec.Vars {
		v := &t.Spec.Vars[i]
		if v.Value == nil {
			continue
		}
		if value := decoded(v.Name, v.Value.Raw); value != nil {
			inputs[v.Name] = value
		}
	}
	if len(inputs) == 0 {
		return nil
	}
	return imagesOf(imagesIn(inputs), use{Environment: environment(t, by), Where: t.Namespace + "/" + t.Name, Address: site.Path("stacks", t.Namespace, t.Name)}, notYet(standing.Of(t)))
}

// notYet says that what an object declares may not be what runs.
func notYet(state standing.State) string {
	if state == standing.Ready {
		return ""
	}
	return "declared, " + string(state)
}

// kustomizationUses are the source that a Kustomization applied, and the images that it sets.
func kustomizationUses(k *kustomizev1.Kustomization, by string) []use {
	if k.Status.LastAppliedRevision == "" {
		return nil
	}
	ref := k.Spec.SourceRef
	of := use{Environment: environment(k, by), Where: "Kustomization " + k.Namespace + "/" + k.Name, Address: site.Path("sources", "kustomization", k.Namespace, k.Name)}
	source := of
	source.Kind, source.Source, source.Version = kindSource, sourceName(ref.Kind, ref.Namespace, k.Namespace, ref.Name), shorten.Revision(k.Status.LastAppliedRevision)
	var found []image
	for i := range k.Spec.Images {
		set := &k.Spec.Images[i]
		text := cmp.Or(set.NewName, set.Name)
		if set.Digest != "" {
			text += "@" + set.Digest
		} else {
			text += ":" + set.NewTag
		}
		if name, version, ok := imageOf(text); ok {
			found = append(found, image{name, version, "images"})
		}
	}
	state, _ := standing.OfConditions(k, k.Status.Conditions, k.Spec.Suspend)
	return append(imagesOf(found, of, notYet(state)), source)
}

// releaseUses are the chart of a Helm release, as it was last installed or upgraded, and the images
// that its values name.
func releaseUses(h *helmv2.HelmRelease, by string) []use {
	last := h.Status.History.Latest()
	if last == nil {
		return nil
	}
	of := use{Environment: environment(h, by), Where: "HelmRelease " + h.Namespace + "/" + h.Name, Address: site.Path("sources", "helmrelease", h.Namespace, h.Name)}
	chart := of
	chart.Kind, chart.Source, chart.Version, chart.Says, chart.Since = kindChart, last.ChartName, last.ChartVersion, last.Status, &last.LastDeployed
	if last.AppVersion != "" {
		chart.Says += ", app " + last.AppVersion
	}
	uses := []use{chart}
	if v := h.Spec.Values; v != nil {
		if values, is := decoded("", v.Raw).(map[string]any); is {
			state, _ := standing.OfConditions(h, h.Status.Conditions, h.Spec.Suspend)
			uses = append(uses, imagesOf(imagesIn(values), of, notYet(state))...)
		}
	}
	return uses
}
