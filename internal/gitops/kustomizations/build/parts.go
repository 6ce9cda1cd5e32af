// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"errors"
	"reflect"
	"slices"

	kustypes "sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/apart"
)

// partFiles is how many files kustomize builds at a time where it may build them apart. It takes 20 ms for so many, and
// 25 s for thirty times as many at once.
const partFiles = 100

// parts lets kustomize build a directory in parts, when what is done to an object has nothing to do with other objects.
// It is not done, and the directory has to be built whole, when that is not so, or when something is wrong.
func (l *look) parts(ctx context.Context, file string, kus *kustypes.Kustomization, run func() ([]made, error)) ([]made, bool, error) {
	if len(kus.Resources) <= partFiles || len(l.files) != len(kus.Resources) || l.visits != 1 || !eachAlone(kus) {
		return nil, false, nil
	}
	defer delete(l.t.made, file)
	var all []made
	seen := map[string]bool{}
	some := *kus
	for files := range slices.Chunk(kus.Resources, partFiles) {
		if ctx.Err() != nil {
			return nil, false, nil
		}
		some.Resources = files
		made, err := yaml.Marshal(some)
		if err != nil {
			return nil, false, nil
		}
		l.t.made[file] = made
		part, err := run()
		if exceeded := (*apart.ExceededError)(nil); errors.As(err, &exceeded) {
			return nil, false, err
		}
		if err != nil {
			return nil, false, nil
		}
		for _, m := range part {
			key := idOf(m)
			if seen[key] || slices.Contains(referrers, m.GetKind()) {
				return nil, false, nil
			}
			seen[key] = true
		}
		all = append(all, part...)
	}
	return all, true, nil
}

// eachAlone tells whether a kustomization does only what it does to each object alone: no names change, so that no
// references do.
func eachAlone(kus *kustypes.Kustomization) bool {
	return reflect.DeepEqual(*kus, kustypes.Kustomization{TypeMeta: kus.TypeMeta, MetaData: kus.MetaData, Resources: kus.Resources, Namespace: kus.Namespace,
		Images: kus.Images, Labels: kus.Labels, CommonAnnotations: kus.CommonAnnotations, BuildMetadata: kus.BuildMetadata})
}
