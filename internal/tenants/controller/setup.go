// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/kit/fresh"
	"github.com/yuba-dev/yuba/internal/tenants/database"
	"github.com/yuba-dev/yuba/internal/tenants/passes"
	"github.com/yuba-dev/yuba/internal/tenants/registry"
	"github.com/yuba-dev/yuba/internal/tenants/template"
	"github.com/yuba-dev/yuba/internal/tenants/tenant"
)

// Tenants are the controllers of the three kinds.
type Tenants struct {
	// Client reads from the cache and writes. Reader bypasses the cache.
	Client client.Client
	Reader client.Reader
	Events events.EventRecorder
	// Config is the server's own access to its API, with all rights.
	Config *rest.Config
	// Rows limits what registries may read.
	Rows database.Options
	// EnvPrefixes begin the keys of varsFrom that stacks of tenants get as environment. Checks of
	// templates need them.
	EnvPrefixes []string
	// Observe is notified of passes and writes; nil for no observer. It must not block.
	Observe tenant.Observer
	// Busy is called whenever writing begins or ends; nil to call nothing. It must not block.
	Busy func(bool)
	Now  func() time.Time
	Log  *slog.Logger

	registries *registry.Controller
	templates  *template.Controller
	tenants    *tenant.Controller
}

// SetupWithManager starts the controllers with the manager. The API must serve the three kinds.
func (t *Tenants) SetupWithManager(ctx context.Context, mgr ctrl.Manager) (err error) {
	api := &passes.API{Client: t.Client, Reader: t.Reader, Cached: mgr.GetCache(), Fresh: fresh.New(mgr.GetCache(), t.Reader),
		Events: t.Events, Config: t.Config, Busy: t.Busy, Now: t.Now, Log: t.Log, Base: ctx}
	findings := passes.NewFindings()
	if t.tenants, err = tenant.New(ctx, mgr, api, t.Observe); err != nil {
		return err
	}
	t.templates = template.New(api, findings, t.tenants.Clusters, t.EnvPrefixes)
	t.tenants.KindsChanged = t.templates.RecheckAll
	t.registries = registry.New(api, findings, &t.templates.Queue, t.Rows)
	for _, setup := range []func(context.Context, ctrl.Manager) error{t.registries.Setup, t.templates.Setup, t.tenants.Setup} {
		if err := setup(ctx, mgr); err != nil {
			return err
		}
	}
	return nil
}
