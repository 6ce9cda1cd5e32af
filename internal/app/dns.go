// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	dns "github.com/yuba-dev/yuba/internal/dns/controller"
	subdomains "github.com/yuba-dev/yuba/internal/dns/subdomain/controller"
)

// addDNS adds the DNS names that fail over, and the subdomains that are claimed.
func (e *engine) addDNS(ctx context.Context, direct client.Reader) error {
	for _, kind := range []string{yubav1.FailoverRecordKind, yubav1.SubdomainPoolKind, yubav1.SubdomainClaimKind} {
		served, err := serves(e.manager.GetRESTMapper(), yubav1.GroupVersion.WithKind(kind))
		if err != nil {
			return err
		}
		if !served {
			e.opts.Log.Warn("this API does not serve the kind " + kind + ", so DNS records are not written. " + installMissing)
			return nil
		}
		if kind != yubav1.FailoverRecordKind {
			continue
		}
		r := &dns.Reconciler{Client: e.manager.GetClient(), Direct: direct, Events: e.events, Now: time.Now, Log: e.opts.Log}
		if err := r.SetupWithManager(ctx, e.manager); err != nil {
			return err
		}
	}
	r := &subdomains.Reconciler{Client: e.manager.GetClient(), Direct: direct, Events: e.events, Now: time.Now, Log: e.opts.Log}
	return r.SetupWithManager(ctx, e.manager)
}
