// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/fluxcd/pkg/ssa/utils"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// awaitDefinitions waits until the API serves the kinds that were just defined. found says whether
// there were any.
func awaitDefinitions(ctx context.Context, c *Cluster, items []*item) (bool, error) {
	found := false
	ctx, cancel := context.WithTimeout(ctx, definitionTimeout)
	defer cancel()
	for _, it := range items {
		if !utils.IsCRD(it.manifest) || it.result == nil && it.action != "created" && it.action != "configured" {
			continue
		}
		found = true
		for !established(it.result) {
			live := &unstructured.Unstructured{}
			live.SetGroupVersionKind(it.manifest.GroupVersionKind())
			if err := c.Client.Get(ctx, client.ObjectKey{Name: it.id.Name}, live); err != nil {
				return found, fmt.Errorf("%s: look whether the API serves what it defines: %w", Name(it.id), err)
			}
			it.result = live
			select {
			case <-ctx.Done():
				return found, fmt.Errorf("%s: the API does not serve what it defines; kubectl describe crd %s says why", Name(it.id), it.id.Name)
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	return found, nil
}

func established(u *unstructured.Unstructured) bool {
	if u == nil {
		return false
	}
	list, _, err := unstructured.NestedSlice(u.Object, "status", "conditions")
	if err != nil {
		return false
	}
	for _, c := range list {
		if m, ok := c.(map[string]any); ok && m["type"] == "Established" && m["status"] == "True" {
			return true
		}
	}
	return false
}
