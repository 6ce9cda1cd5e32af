// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/resource"
	kustypes "sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"
)

// partFiles is how many files kustomize builds at a time where it may build them apart. It takes 20 ms for so many, and
// 25 s for thirty times as many at once.
const partFiles = 100

// parts lets kustomize build a directory in parts, when what is done to an object has nothing to do with other objects.
// It is not done, and the directory has to be built whole, when that is not so, or when something is wrong.
func (l *look) parts(ctx context.Context, file string, kus *kustypes.Kustomization) ([]*resource.Resource, bool) {
	if len(kus.Resources) <= partFiles || len(l.files) != len(kus.Resources) || l.visits != 1 || !eachAlone(kus) {
		return nil, false
	}
	defer delete(l.t.made, file)
	var all []*resource.Resource
	seen := map[string]bool{}
	part := *kus
	for files := range slices.Chunk(kus.Resources, partFiles) {
		if ctx.Err() != nil {
			return nil, false
		}
		part.Resources = files
		made, err := yaml.Marshal(part)
		if err != nil {
			return nil, false
		}
		l.t.made[file] = made
		resources, err := l.run()
		if err != nil {
			return nil, false
		}
		for _, r := range resources {
			id := r.CurId()
			key := strings.Join([]string{id.Gvk.String(), id.EffectiveNamespace(), id.Name}, "|")
			if seen[key] || slices.Contains(referrers, r.GetKind()) {
				return nil, false
			}
			seen[key] = true
		}
		all = append(all, resources...)
	}
	return all, true
}

// eachAlone tells whether a kustomization does only what it does to each object alone: no names change, so that no
// references do.
func eachAlone(kus *kustypes.Kustomization) bool {
	return reflect.DeepEqual(*kus, kustypes.Kustomization{TypeMeta: kus.TypeMeta, MetaData: kus.MetaData, Resources: kus.Resources, Namespace: kus.Namespace,
		Images: kus.Images, Labels: kus.Labels, CommonAnnotations: kus.CommonAnnotations, BuildMetadata: kus.BuildMetadata})
}
