// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"

	automationv1 "github.com/fluxcd/image-automation-controller/api/v1"
	imagev1 "github.com/fluxcd/image-reflector-controller/api/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/gitops/sources/images"
	"github.com/yuba-dev/yuba/internal/gitops/sources/oci"
)

// addImages adds the controllers of image automation, if the API serves all their kinds.
func (e *engine) addImages(ctx context.Context, direct client.Client) error {
	for _, kind := range []string{imagev1.ImageRepositoryKind, imagev1.ImagePolicyKind, automationv1.ImageUpdateAutomationKind} {
		served, err := serves(e.manager.GetRESTMapper(), imagev1.GroupVersion.WithKind(kind))
		if err != nil {
			return err
		}
		if !served {
			e.opts.Log.Info("this API does not serve the kind " + kind + ", so images are not updated in git. " + installMissing)
			return nil
		}
	}
	i := &images.Images{Client: direct, Reader: direct, Events: e.events, Registries: oci.New(), Git: e.mirrors,
		AllowCrossNamespace: e.opts.AllowCrossNamespace, Log: e.opts.Log.With("component", "images")}
	if err := i.SetupWithManager(ctx, e.manager); err != nil {
		return fmt.Errorf("set up image automation: %w", err)
	}
	return nil
}
