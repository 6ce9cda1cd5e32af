// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"

	"github.com/yuba-dev/yuba/internal/objects/owned"
)

// NewWatch makes a watch of the objects whose labels name an owner. Its informers end with ctx.
// changed is called for every change of an owned object, with nil when it is gone; it must not
// block.
func (p *Policy) NewWatch(ctx context.Context, client metadata.Interface, mapper meta.RESTMapper,
	changed func(owner Owner, id ID, now *metav1.PartialObjectMetadata)) *Watch {
	return owned.NewWatch(ctx, owned.Options{Metadata: client, Mapper: mapper, Selector: p.labelName(), Changed: changed,
		Owners: func(_ ID, o metav1.Object) []Owner {
			if owner, ok := p.OwnerOf(o); ok {
				return []Owner{owner}
			}
			return nil
		}})
}

// waitFor polls until a condition holds.
func waitFor(ctx context.Context, so func() bool) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}
