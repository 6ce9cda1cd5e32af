// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fluxcd/pkg/ssa/utils"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// definitionTimeout is how long the API may take to serve a kind that was just defined.
	definitionTimeout = 30 * time.Second
	pollEvery         = 20 * time.Millisecond
)

// awaitDefinitions waits until the API serves the kinds that were just defined. found reports
// whether there were any.
func awaitDefinitions(ctx context.Context, c *Cluster, items []*item) (bool, error) {
	found := false
	ctx, cancel := context.WithTimeout(ctx, definitionTimeout)
	defer cancel()
	for _, it := range items {
		if !utils.IsCRD(it.manifest) || it.result == nil && it.action != "created" && it.action != "configured" {
			continue
		}
		found = true
		err := wait.PollUntilContextCancel(ctx, pollEvery, true, func(ctx context.Context) (done bool, err error) {
			if !established(it.result) {
				it.result, err = c.read(ctx, it.manifest)
			}
			return err == nil && established(it.result), err
		})
		switch {
		case ctx.Err() != nil:
			return found, fmt.Errorf("%s: the API does not serve the kind; kubectl describe crd %s says why", Name(it.id), it.id.Name)
		case err != nil:
			return found, fmt.Errorf("%s: check whether the API serves the kind: %w", Name(it.id), err)
		}
	}
	return found, nil
}

func established(u *unstructured.Unstructured) bool {
	if u == nil {
		return false
	}
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions") //nolint:errcheck // malformed conditions count as none
	return slices.ContainsFunc(list, func(c any) bool {
		m, ok := c.(map[string]any)
		return ok && m["type"] == "Established" && m["status"] == "True"
	})
}
