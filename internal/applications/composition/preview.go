// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package composition

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// hidden stands for the values of a Secret.
const hidden = "(hidden)"

// Hide hides the values of the Secrets among objects.
func Hide(objects map[string]*unstructured.Unstructured) {
	for _, u := range objects {
		if u.GroupVersionKind().GroupKind() != secrets {
			continue
		}
		for _, field := range []string{fieldData, fieldStringData} {
			values, _ := u.Object[field].(map[string]any)
			for key := range values {
				values[key] = hidden
			}
		}
	}
}

// Known makes the objects of an instance as far as they are known before any of them exists, by the ids
// of their resources. Texts that read other resources stay as they are written. Secrets have their
// values: use [Hide] before anybody sees them.
func (c *Composition) Known(ctx context.Context, i *Instance) (map[string]*unstructured.Unstructured, error) {
	included, err := c.Included(ctx, i)
	if err != nil {
		return nil, err
	}
	objects := map[string]*unstructured.Unstructured{}
	for _, r := range c.Resources {
		if !included[r.ID] {
			continue
		}
		known := *r
		known.texts = map[string]*text{}
		for written, t := range r.texts {
			if t.known(nil) {
				known.texts[written] = t
			}
		}
		u, err := known.Object(ctx, i, nil)
		if err != nil {
			return nil, err
		}
		objects[r.ID] = u
	}
	return objects, nil
}
