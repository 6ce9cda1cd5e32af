// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// addGitOps adds the controllers that replace Flux.
func (e *engine) addGitOps(ctx context.Context, direct client.Client) error {
	if err := e.addSources(ctx, direct); err != nil {
		return err
	}
	if err := e.addKustomizations(ctx, direct); err != nil {
		return err
	}
	return e.addReceivers(ctx)
}
