// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	generator "github.com/fluxcd/pkg/kustomize"
	"sigs.k8s.io/kustomize/api/konfig"
	kustypes "sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/yaml"
)

// resources are what kustomize makes of the tree with what the Kustomization adds.
func (t *tree) resources(ctx context.Context, in Input) ([]made, *look, error) {
	spec := &in.Object.Spec
	l := &look{t: t, plain: true}
	file, kus, err := t.topmost()
	if err != nil {
		return nil, l, err
	}
	if err := t.add(kus, spec); err != nil {
		return nil, l, err
	}
	made, err := yaml.Marshal(kus)
	if err != nil {
		return nil, l, fmt.Errorf("write the kustomization: %w", err)
	}
	if err := checkKustomization(t.name(file)+" with what the Kustomization adds", made); err != nil {
		return nil, l, err
	}
	l.rule(made)
	if err := l.kustomization(t.dir, kus, file, nil); err != nil {
		return nil, l, err
	}
	if l.plain {
		resources, done, err := l.direct(ctx)
		if done || err != nil {
			return resources, l, err
		}
	}
	if len(l.files) > maxKustomized {
		return nil, l, &LimitError{Subject: "the directory " + t.name(t.dir), Has: fmt.Sprintf("%d files with objects", len(l.files)),
			Limit: fmt.Sprintf("%d where namespaces, names, patches or the like are added", maxKustomized)}
	}
	if in.Programs != nil && (in.apart || l.mayGrow()) {
		resources, err := l.apart(ctx, in, file, made, kus)
		return resources, l, err
	}
	resources, err := l.kustomize(ctx, file, made, kus)
	return resources, l, err
}

// topmost is the kustomization of the directory that is built; one that lists all YAML below it when there is none.
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
			// kustomize refuses one that is empty.
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
	// Flux leaves out what it does not know in this one. With resource: for resources: nothing would be left to apply, and
	// everything that was applied would be pruned.
	if err := (&kustypes.Kustomization{}).Unmarshal(data); err != nil && strings.Contains(err.Error(), "unknown field") {
		return "", nil, (&look{t: t}).invalid(file, data, err)
	}
	if len(kus.Resources) == 0 {
		// As Flux does, and for the same reason: it must not be empty.
		kus.BuildMetadata = []string{kustypes.OriginAnnotations}
	}
	return file, kus, nil
}

// manifests lists what a directory without a kustomization holds: its YAML files, and those of its directories, except
// that a directory with a kustomization stands for all below it.
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
			return fmt.Errorf("%s is a link that leads nowhere or out of the artifact", t.name(path))
		}
		if found = append(found, name); len(found) > maxFiles {
			return &LimitError{Subject: "the directory " + t.name(t.dir), Limit: fmt.Sprintf("%d files", maxFiles)}
		}
		return nil
	})
	return found, err
}

// add adds what the Kustomization says to the kustomization of the directory.
func (t *tree) add(kus *kustypes.Kustomization, spec *kustomizev1.KustomizationSpec) error {
	if spec.TargetNamespace != "" {
		kus.Namespace = spec.TargetNamespace
	}
	if spec.NamePrefix != "" {
		kus.NamePrefix = spec.NamePrefix
	}
	if spec.NameSuffix != "" {
		kus.NameSuffix = spec.NameSuffix
	}
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
	t.addImages(kus, spec)
	if len(spec.BuildMetadata) > 0 {
		kus.BuildMetadata = nil
		for _, option := range spec.BuildMetadata {
			kus.BuildMetadata = append(kus.BuildMetadata, string(option))
		}
	}
	return nil
}

// addImages lays spec.images over those of the directory: a name that is there keeps what is not said anew, where tag
// and digest are one.
func (t *tree) addImages(kus *kustypes.Kustomization, spec *kustomizev1.KustomizationSpec) {
	for _, image := range spec.Images {
		at := -1
		for i := range kus.Images {
			if kus.Images[i].Name == image.Name {
				at = i
				break
			}
		}
		if at < 0 {
			kus.Images = append(kus.Images, kustypes.Image{Name: image.Name, NewName: image.NewName, NewTag: image.NewTag, Digest: image.Digest})
			continue
		}
		if image.NewName != "" {
			kus.Images[at].NewName = image.NewName
		}
		if image.NewTag != "" || image.Digest != "" {
			kus.Images[at].NewTag, kus.Images[at].Digest = image.NewTag, image.Digest
		}
	}
}
