// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/diagnostic"
)

// registry is that of a template.
func (o *object) registry() types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.text("spec", "registryId")}
}

// whileNotHeld gives a context for the wait until a template is gone. It ends when the registry holds the deletion of the
// template's tenants back, for nobody knows how long, and heldBack then says so. It is called before the template is
// deleted: what is held already is about others, unless the template was deleted before.
func (s *session) whileNotHeld(ctx context.Context, template *object) (context.Context, context.CancelFunc) {
	// A request that is given up is nothing that Kubernetes' client would have to tell of.
	ctx, cancel := context.WithCancelCause(klog.NewContext(ctx, logr.Discard()))
	key := template.registry()
	before := ""
	if registry, err := s.getObject(ctx, tenantRegistries, key); err == nil && template.GetDeletionTimestamp() == nil {
		before = registry.text("status", "held", "id")
	}
	go func() {
		var held *tenantv1.HeldDeletion
		_, err := s.awaitObject(ctx, tenantRegistries, key, func(o *object) verdict {
			var registry tenantv1.TenantRegistry
			if o.as(&registry) != nil {
				return notYet
			}
			if held = registry.Status.Held; held == nil || held.Confirmed || held.ID == before {
				return notYet
			}
			return done
		})
		if err == nil && held != nil {
			cancel(exitf(exitWaiting, "delete %s: it goes when its tenants are gone, and that is held back: %s. Let it go on:\n    yuba tenant confirm %s",
				template, diagnostic.Printable(held.Message), s.call(key)))
		}
	}()
	return ctx, func() { cancel(nil) }
}

// heldBack is why a context of whileNotHeld ended, or the error that it led to.
func heldBack(ctx context.Context, err error) error {
	var exit *exitErr
	if errors.As(context.Cause(ctx), &exit) {
		return exit
	}
	return err
}
