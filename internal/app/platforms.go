// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/dns/connect"
	"github.com/yuba-dev/yuba/internal/dns/resolve"
	"github.com/yuba-dev/yuba/internal/kit/outbound"
	"github.com/yuba-dev/yuba/internal/platform/callhome"
	platforms "github.com/yuba-dev/yuba/internal/platform/controller"
	"github.com/yuba-dev/yuba/internal/platform/plan"
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
	r.Resolve = func(ctx context.Context, resolver, name, kind string, addresses []string) (string, error) {
		return resolve.Check(ctx, outbound.Dialer(connect.Timeout), resolver, name, kind, addresses)
	}
	if base := e.opts.CallHome.Base(); base != "" {
		r.CallHome = &plan.CallHome{
			URL: func(namespace, secret string) string { return callhome.URL(base, namespace, secret) },
			CA:  string(e.opts.authority),
		}
		r.Prepare = keepTicket(direct, time.Now)
	}
	return r.SetupWithManager(ctx, e.manager)
}

// keepTicket returns a function that keeps the ticket and the token of a region's first node.
func keepTicket(direct client.Client, now func() time.Time) func(ctx context.Context, p *yubav1.Platform, region string) error {
	return func(ctx context.Context, p *yubav1.Platform, region string) error {
		secret := func(what string) types.NamespacedName {
			return types.NamespacedName{Namespace: p.Namespace, Name: plan.SecretName(p.Name, region, what)}
		}
		_, err := callhome.Keep(ctx, direct, callhome.Pair{
			Ticket: secret(plan.KubeconfigSecret), Tokens: secret(plan.TokenSecret), Lifetime: callhome.MaxLifetime,
			Labels: map[string]string{yubav1.LabelPlatform: p.Name, yubav1.LabelPlatformRegion: region},
		}, now())
		if err != nil {
			return fmt.Errorf("prepare the call home of the region %s of the platform %s: %w", region, p.Name, err)
		}
		return nil
	}
}
