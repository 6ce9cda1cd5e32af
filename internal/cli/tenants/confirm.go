// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/cli/listing"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

func newTenantConfirmCommand(a *session.App) *cobra.Command {
	var yes bool
	var id string
	cmd := &cobra.Command{
		Use:   "confirm REGISTRY",
		Short: "Confirm a held deletion of tenants",
		Long: `Confirm a held deletion of tenants. Yuba holds a deletion if more rows are gone than spec.protection of the registry allows
in one reading, or if a template with several tenants is deleted: a mistake in the table, or in a query, must not delete all
tenants. The confirmation is for this one deletion; Yuba holds the next one again.`,
		Example: "  yuba tenant confirm customers\n  yuba tenant confirm customers --yes --id 5f2a91c0",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: a.ObjectNames(session.TenantRegistries, false),
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	cmd.Flags().StringVar(&id, "id", "", "confirm only the deletion with this id, from status.held.id")
	out := ui.AddOutputFlag(cmd, "json", "yaml", "name")
	cmd.RunE = listing.OnEach(a, session.TenantRegistries, out, func(ctx context.Context, s *session.Session, key types.NamespacedName) (*session.Object, error) {
		return confirmDeletion(ctx, s, key, id, yes)
	})
	return cmd
}

// confirmDeletion confirms the deletion that a registry holds now, and no later one.
func confirmDeletion(ctx context.Context, s *session.Session, key types.NamespacedName, id string, yes bool) (*session.Object, error) {
	o, err := s.GetObject(ctx, session.TenantRegistries, key)
	if err != nil {
		return nil, err
	}
	var registry tenantv1.TenantRegistry
	if err := o.As(&registry); err != nil {
		return nil, err
	}
	held := registry.Status.Held
	switch {
	case held == nil:
		return nil, ui.Exitf(ui.ExitFailure, "confirm a deletion of %s: no deletion is held. Check its status:\n    yuba get tenantregistries %s", o, s.Call(key))
	case id != "" && held.ID != id:
		return nil, ui.Exitf(ui.ExitFailure, "confirm the deletion %s of %s: the held deletion is now %s, of %s. Check it before you confirm it:\n    yuba tenant list --registry %s",
			id, o, held.ID, namedTenants(held.Tenants, int(held.Count)), key.Name)
	case held.Confirmed:
		s.News("It is confirmed already; %s to delete.", ui.Count(int(held.Count), "tenant"))
		return o, nil
	}
	question := fmt.Sprintf("%s of %s will be deleted: %s. Their objects are deleted with them, unless their deletionPolicy is Retain. There is no undo.",
		ui.Count(int(held.Count), "tenant"), o, namedTenants(held.Tenants, int(held.Count)))
	if held.Message != "" {
		question = diagnostic.Printable(held.Message) + "\n" + question
	}
	if err := s.MustConfirm(yes, question); err != nil {
		return nil, err
	}
	changed, err := s.PatchObject(ctx, "confirm a deletion of", session.TenantRegistries, key, session.Change{}.Annotate(map[string]any{tenantv1.AnnotationConfirmDeletion: held.ID}))
	if err != nil {
		return nil, err
	}
	s.News("Confirmed. Follow it with:\n    yuba tenant list --registry %s", key.Name)
	return changed, nil
}
