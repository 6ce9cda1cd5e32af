// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	applications "github.com/yuba-dev/yuba/internal/applications/controller"
)

// addApplications adds the controllers of application kinds.
func (e *engine) addApplications(ctx context.Context, direct client.Client) error {
	if len(e.opts.Namespaces) > 0 {
		e.opts.Log.Info("application kinds are not served: they belong to no namespace, and this server works on some namespaces only")
		return nil
	}
	served, err := serves(e.manager.GetRESTMapper(), appv1.GroupVersion.WithKind(appv1.ApplicationDefinitionKind))
	if err != nil {
		return err
	}
	if !served {
		e.opts.Log.Warn("this API does not serve the kind " + appv1.ApplicationDefinitionKind + ", so no application kinds are served. " + installMissing)
		return nil
	}
	a := &applications.Applications{Client: e.manager.GetClient(), Reader: direct, Events: e.events, Now: time.Now, Log: e.opts.Log.With("component", "applications")}
	if err := a.SetupWithManager(ctx, e.manager); err != nil {
		return fmt.Errorf("set up the controllers of applications: %w", err)
	}
	e.applications = a
	return nil
}
