// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	generator "github.com/fluxcd/pkg/kustomize"
	"sigs.k8s.io/kustomize/api/konfig"
	kustypes "sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/yaml"

	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/kustomize"
)

// build builds the tree with the additions of the Kustomization.
func (t *tree) build(ctx context.Context, in Input) ([]*kustomize.Object, *look, error) {
	spec := &in.Object.Spec
	l := &look{t: t, plain: true}
	file, kus, err := t.topmost()
	if err != nil {
		return nil, l, err
	}
	if err := t.add(kus, spec); err != nil {
		return nil, l, err
	}
	text, err := yaml.Marshal(kus)
	if err != nil {
		return nil, l, fmt.Errorf("write the kustomization: %w", err)
	}
	if err := checkKustomization(t.name(file)+" with the additions of the Kustomization", text); err != nil {
		return nil, l, err
	}
	l.rule(text)
	if err := l.kustomization(t.dir, kus, file, nil); err != nil {
		return nil, l, err
	}
	if l.plain {
		objects, done, err := l.direct(ctx)
		if done || err != nil {
			return objects, l, err
		}
	}
	if len(l.files) > maxKustomized {
		return nil, l, &LimitError{Subject: "the directory " + t.name(t.dir), Has: fmt.Sprintf("%d files with objects", len(l.files)),
			Limit: fmt.Sprintf("%d where namespaces, names, patches or the like are added", maxKustomized)}
	}
	if in.Programs != nil && (in.apart || l.mayGrow()) {
		objects, err := l.apart(ctx, in, file, text, kus)
		return objects, l, err
	}
	objects, err := l.here(ctx, file, text, kus)
	return objects, l, err
}

// topmost returns the kustomization of the built directory, or one with all YAML files below it.
func (t *tree) topmost() (string, *kustypes.Kustomization, error) {
	kus := &kustypes.Kustomization{TypeMeta: kustypes.TypeMeta{APIVersion: kustypes.KustomizationVersion, Kind: kustypes.KustomizationKind}}
	file, err := t.kustomizationIn(t.dir)
	if err != nil {
		return "", nil, err
	}
	if file == "" {
		if kus.Resources, err = t.manifests(); err != nil {
			return "", nil, err
		}
		if len(kus.Resources) == 0 {
			// kustomize refuses an empty one.
			kus.Namespace = "_placeholder"
		}
		return filepath.Join(t.dir, konfig.DefaultKustomizationFileName()), kus, nil
	}
	data, err := t.ReadFile(file)
	if err != nil {
		return "", nil, err
	}
	if err := yaml.Unmarshal(data, kus); err != nil {
		return "", nil, (&look{t: t}).invalid(file, data, err)
	}
	// Flux ignores unknown fields here. A typo such as "resource:" would prune all objects.
	if err := (&kustypes.Kustomization{}).Unmarshal(data); err != nil && strings.Contains(err.Error(), "unknown field") {
		return "", nil, (&look{t: t}).invalid(file, data, err)
	}
	if len(kus.Resources) == 0 {
		// As in Flux: it must not be empty.
		kus.BuildMetadata = []string{kustypes.OriginAnnotations}
	}
	return file, kus, nil
}

// manifests lists the YAML files of a directory without a kustomization, and of its directories. A
// directory with a kustomization is listed itself, without its content.
func (t *tree) manifests() ([]string, error) {
	var found []string
	err := filepath.WalkDir(t.dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("list %s: %w", t.name(path), err)
		}
		if path == t.dir {
			return nil
		}
		name := "./" + filepath.ToSlash(strings.TrimPrefix(path, t.dir+string(filepath.Separator)))
		if entry.IsDir() {
			file, err := t.kustomizationIn(path)
			if err != nil || file == "" {
				return err
			}
			found = append(found, name)
			return filepath.SkipDir
		}
		if extension := filepath.Ext(path); extension != ".yaml" && extension != ".yml" {
			return nil
		}
		if _, err := t.real(path); err != nil {
			return fmt.Errorf("%s is a link to nowhere or out of the artifact", t.name(path))
		}
		if found = append(found, name); len(found) > maxFiles {
			return &LimitError{Subject: "the directory " + t.name(t.dir), Limit: fmt.Sprintf("%d files", maxFiles)}
		}
		return nil
	})
	return found, err
}

// add adds the fields of the Kustomization to the kustomization of the directory.
func (t *tree) add(kus *kustypes.Kustomization, spec *kustomizev1.KustomizationSpec) error {
	kus.Namespace = cmp.Or(spec.TargetNamespace, kus.Namespace)
	kus.NamePrefix = cmp.Or(spec.NamePrefix, kus.NamePrefix)
	kus.NameSuffix = cmp.Or(spec.NameSuffix, kus.NameSuffix)
	for _, patch := range spec.Patches {
		added := kustypes.Patch{Patch: patch.Patch}
		if target := patch.Target; target != nil {
			added.Target = &kustypes.Selector{
				ResId: resid.ResId{
					Gvk:       resid.Gvk{Group: target.Group, Version: target.Version, Kind: target.Kind},
					Name:      target.Name,
					Namespace: target.Namespace,
				},
				AnnotationSelector: target.AnnotationSelector,
				LabelSelector:      target.LabelSelector,
			}
		}
		kus.Patches = append(kus.Patches, added)
	}
	for _, component := range spec.Components {
		if !generator.IsLocalRelativePath(component) {
			return fmt.Errorf("component path %q of spec.components must be local and relative", component)
		}
		if spec.IgnoreMissingComponents && !t.Exists(filepath.Join(t.dir, component)) {
			continue
		}
		kus.Components = append(kus.Components, component)
	}
	addImages(kus, spec)
	if len(spec.BuildMetadata) > 0 {
		kus.BuildMetadata = nil
		for _, option := range spec.BuildMetadata {
			kus.BuildMetadata = append(kus.BuildMetadata, string(option))
		}
	}
	return nil
}

// addImages merges spec.images into those of the directory. Unset fields keep their value, but tag
// and digest replace each other.
func addImages(kus *kustypes.Kustomization, spec *kustomizev1.KustomizationSpec) {
	for _, image := range spec.Images {
		at := slices.IndexFunc(kus.Images, func(known kustypes.Image) bool { return known.Name == image.Name })
		if at < 0 {
			kus.Images = append(kus.Images, kustypes.Image{Name: image.Name, NewName: image.NewName, NewTag: image.NewTag, Digest: image.Digest})
			continue
		}
		kus.Images[at].NewName = cmp.Or(image.NewName, kus.Images[at].NewName)
		if image.NewTag != "" || image.Digest != "" {
			kus.Images[at].NewTag, kus.Images[at].Digest = image.NewTag, image.Digest
		}
	}
}
