// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	dns "github.com/yuba-dev/yuba/internal/dns/controller"
)

// addDNS adds the DNS names that fail over.
func (e *engine) addDNS(ctx context.Context, direct client.Reader) error {
	served, err := serves(e.manager.GetRESTMapper(), yubav1.GroupVersion.WithKind(yubav1.FailoverRecordKind))
	if err != nil {
		return err
	}
	if !served {
		e.opts.Log.Warn("this API does not serve the kind " + yubav1.FailoverRecordKind + ", so DNS records are not written. " + installMissing)
		return nil
	}
	r := &dns.Reconciler{Client: e.manager.GetClient(), Direct: direct, Events: e.events, Now: time.Now, Log: e.opts.Log}
	return r.SetupWithManager(ctx, e.manager)
}
