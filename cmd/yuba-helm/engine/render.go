// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/fluxcd/pkg/apis/kustomize"
	"helm.sh/helm/v4/pkg/postrenderer"
	"sigs.k8s.io/kustomize/api/krusty"
	kustypes "sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/yaml"

	"github.com/yuba-dev/yuba/internal/gitops/releases/wire"
)

// renderers are those of spec.postRenderers, followed by the labels of all objects.
type renderers []postrenderer.PostRenderer

// Run implements PostRenderer.
func (r renderers) Run(manifests *bytes.Buffer) (*bytes.Buffer, error) {
	var err error
	for _, one := range r {
		if manifests, err = one.Run(manifests); err != nil {
			return nil, err
		}
	}
	return manifests, nil
}

// postRenderer returns the renderer of a call.
func postRenderer(o wire.Options) (postrenderer.PostRenderer, error) {
	var all renderers
	if len(o.PostRenderers) > 0 {
		var list []struct{ Kustomize *patching }
		if err := json.Unmarshal(o.PostRenderers, &list); err != nil {
			return nil, failed(wire.FailedValues, "read spec.postRenderers: %w", err)
		}
		for _, one := range list {
			if one.Kustomize != nil {
				all = append(all, one.Kustomize)
			}
		}
	}
	if len(o.Labels) > 0 || len(o.Annotations) > 0 {
		all = append(all, marking{o.Labels, o.Annotations})
	}
	if len(o.Origin) > 0 {
		all = append(all, marking{labels: o.Origin})
	}
	return all, nil
}

// patching runs kustomize.
type patching struct {
	Patches []kustomize.Patch
	Images  []kustomize.Image
}

// Run implements PostRenderer.
func (p *patching) Run(manifests *bytes.Buffer) (*bytes.Buffer, error) {
	if len(bytes.TrimSpace(manifests.Bytes())) == 0 {
		return manifests, nil
	}
	k := kustypes.Kustomization{TypeMeta: kustypes.TypeMeta{APIVersion: kustypes.KustomizationVersion, Kind: kustypes.KustomizationKind}, Resources: []string{"manifests.yaml"}}
	for _, patch := range p.Patches {
		k.Patches = append(k.Patches, kustypes.Patch{Patch: patch.Patch, Target: selector(patch.Target)})
	}
	for _, image := range p.Images {
		k.Images = append(k.Images, kustypes.Image{Name: image.Name, NewName: image.NewName, NewTag: image.NewTag, Digest: image.Digest})
	}
	written, err := yaml.Marshal(k)
	if err != nil {
		return nil, err
	}
	files := filesys.MakeFsInMemory()
	for name, data := range map[string][]byte{"kustomization.yaml": written, "manifests.yaml": manifests.Bytes()} {
		if err := files.WriteFile(name, data); err != nil {
			return nil, err
		}
	}
	options := krusty.MakeDefaultOptions()
	options.PluginConfig = kustypes.DisabledPluginConfig()
	made, err := krusty.MakeKustomizer(options).Run(files, ".")
	if err != nil {
		return nil, fmt.Errorf("run kustomize for spec.postRenderers: %w", err)
	}
	data, err := made.AsYaml()
	return bytes.NewBuffer(data), err
}

func selector(s *kustomize.Selector) *kustypes.Selector {
	if s == nil {
		return nil
	}
	return &kustypes.Selector{ResId: resid.ResId{Gvk: resid.Gvk{Group: s.Group, Version: s.Version, Kind: s.Kind}, Name: s.Name, Namespace: s.Namespace},
		AnnotationSelector: s.AnnotationSelector, LabelSelector: s.LabelSelector}
}

// marking adds labels and annotations to all objects.
type marking struct{ labels, annotations map[string]string }

// Run implements PostRenderer.
func (m marking) Run(manifests *bytes.Buffer) (*bytes.Buffer, error) {
	objects, err := decode(manifests.Bytes())
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for _, o := range objects {
		if len(m.labels) > 0 {
			o.SetLabels(join(o.GetLabels(), m.labels))
		}
		if len(m.annotations) > 0 {
			o.SetAnnotations(join(o.GetAnnotations(), m.annotations))
		}
		data, err := yaml.Marshal(o.Object)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&out, "---\n%s", data)
	}
	return &out, nil
}

func join(have, more map[string]string) map[string]string {
	if have == nil {
		have = map[string]string{}
	}
	for k, v := range more {
		have[k] = v
	}
	return have
}
