// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	platforms "github.com/yuba-dev/yuba/internal/platform/controller"
)

// addPlatforms adds the platforms.
func (e *engine) addPlatforms(ctx context.Context, direct client.Client) error {
	served, err := serves(e.manager.GetRESTMapper(), yubav1.GroupVersion.WithKind(yubav1.PlatformKind))
	if err != nil {
		return err
	}
	if !served {
		e.opts.Log.Warn("this API does not serve the kind " + yubav1.PlatformKind + ", so platforms are not made. " + installMissing)
		return nil
	}
	r := &platforms.Reconciler{Client: e.manager.GetClient(), Direct: direct, Events: e.events, Now: time.Now, Log: e.opts.Log}
	return r.SetupWithManager(ctx, e.manager)
}
