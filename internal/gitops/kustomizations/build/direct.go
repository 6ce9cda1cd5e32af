// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/provider"

	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/kustomize"
)

// referrers are the kinds in whose references kustomize sets namespaces even if no name changes.
var referrers = []string{"ClusterRoleBinding", "MutatingWebhookConfiguration", "Node", "RoleBinding", "StorageClass", "ValidatingWebhookConfiguration"}

// direct reads a tree that kustomize would not change, and saves its comparison of all objects: a
// second for 1000, half a minute for 3000. done is false if kustomize would do more.
func (l *look) direct(ctx context.Context) (all []*kustomize.Object, done bool, err error) {
	defer func() {
		if recover() != nil {
			all, done, err = nil, false, nil
		}
	}()
	factory := provider.NewDefaultDepProvider().GetResourceFactory()
	first := map[string]string{}
	for _, file := range l.files {
		if err := ctx.Err(); err != nil {
			return nil, false, fmt.Errorf("build directory %s: %w", l.t.name(l.t.dir), context.Cause(ctx))
		}
		data, err := l.t.ReadFile(file)
		if err != nil {
			return nil, false, err
		}
		read, err := factory.SliceFromBytes(data)
		if err != nil {
			return nil, false, l.explainFile(file, err)
		}
		for _, r := range read {
			o := kustomize.ObjectOf(r)
			if other, twice := first[o.ID]; twice {
				return nil, false, twiceError(o.String(), l.t.name(other), l.t.name(file))
			}
			first[o.ID] = file
			if slices.Contains(referrers, o.Kind) {
				return nil, false, nil
			}
			if local, ok := r.GetAnnotations()[konfig.IgnoredByKustomizeAnnotation]; ok && local != "false" {
				continue
			}
			if all = append(all, o); len(all) > maxFiles {
				return nil, false, &LimitError{Subject: "the directory " + l.t.name(l.t.dir), Limit: fmt.Sprintf("%d objects", maxFiles)}
			}
		}
	}
	return all, true, nil
}

func twiceError(object, file, other string) error {
	if file == other {
		return fmt.Errorf("%s is in %s twice; keep one", object, file)
	}
	return fmt.Errorf("%s is in %s and in %s; keep one", object, file, other)
}
