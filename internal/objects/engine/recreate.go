// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"strings"
	"time"

	ssaerrors "github.com/fluxcd/pkg/ssa/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// recreatable reports whether only recreating the object helps, and force allows that. An invalid
// manifest must not delete an object, so the API must accept it for a new one.
func (s *stage) recreatable(ctx context.Context, it *item, err error) bool {
	if !ssaerrors.IsImmutableError(err) || !(s.forced(it) || it.live != nil && says(it.live, s.policy().keyForce(), valueEnabled)) {
		return false
	}
	probe := it.manifest.DeepCopy()
	name := probe.GetName()
	probe.SetName(name[:min(len(name), 200)] + "-dry-run")
	return s.cluster.Client.Create(ctx, probe, client.DryRunAll, client.FieldOwner(s.policy().Manager)) == nil
}

// removeTimeout is how long a pass waits for the deletion of an object that is recreated.
const removeTimeout = 5 * time.Second

// remove deletes an object before it is recreated, and waits a moment until it is gone.
func (s *stage) remove(ctx context.Context, it *item) error {
	live, err := s.cluster.Metadata(ctx, it.ref())
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if live.DeletionTimestamp == nil {
		if err := s.cluster.remove(ctx, it.ref(), live.UID); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("immutable field detected, delete the object: %w", err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, removeTimeout)
	defer cancel()
	err = wait.PollUntilContextCancel(ctx, pollEvery, true, func(ctx context.Context) (bool, error) {
		_, err := s.cluster.Metadata(ctx, it.ref())
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("immutable field detected; the object is being deleted to recreate it, and waits for its finalizers (%s)",
			strings.Join(live.Finalizers, ", "))
	}
	return err
}
