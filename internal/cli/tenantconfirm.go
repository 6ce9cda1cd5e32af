// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

func newTenantConfirmCommand(a *app) *cobra.Command {
	var yes bool
	var id string
	cmd := &cobra.Command{
		Use:   "confirm REGISTRY",
		Short: "Let a deletion of tenants go on that was held back",
		Long: `Let a deletion of tenants go on. When rows of more tenants are gone than spec.protection of the registry lets go in one
reading, or when a template with several tenants is deleted, nothing is deleted until somebody confirms it: a mistake in the
table, or in a query, must not cost all tenants. What is confirmed is this one deletion; the next one is held again.`,
		Example: "  yuba tenant confirm customers\n  yuba tenant confirm customers --yes --id 5f2a91c0",
		Args:    arguments(1, 1), ValidArgsFunction: a.objectNames(tenantRegistries, false),
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "ask no question")
	cmd.Flags().StringVar(&id, "id", "", "confirm only the deletion with this id, as status.held.id has it")
	out := addOutputFlag(cmd, "json", "yaml", "name")
	cmd.RunE = a.onObjects(tenantRegistries, out, func(ctx context.Context, s *session, keys []types.NamespacedName) error {
		return s.changeEach(keys, out, func(key types.NamespacedName) (*object, error) { return s.confirmDeletion(ctx, key, id, yes) })
	})
	return cmd
}

// confirmDeletion confirms the deletion that a registry holds back now. Another one that takes its place meanwhile is not
// confirmed by it.
func (s *session) confirmDeletion(ctx context.Context, key types.NamespacedName, id string, yes bool) (*object, error) {
	o, err := s.getObject(ctx, tenantRegistries, key)
	if err != nil {
		return nil, err
	}
	var registry tenantv1.TenantRegistry
	if err := o.as(&registry); err != nil {
		return nil, err
	}
	held := registry.Status.Held
	switch {
	case held == nil:
		return nil, exitf(exitError, "confirm a deletion of %s: it holds none back now. See how it stands:\n    yuba get tenantregistries %s", o, s.call(key))
	case id != "" && held.ID != id:
		return nil, exitf(exitError, "confirm the deletion %s of %s: it holds back %s by now, which is about %s. Look at it before you confirm it:\n    yuba tenant list --registry %s",
			id, o, held.ID, namedTenants(held.Tenants, int(held.Count)), key.Name)
	case held.Confirmed:
		s.news("It is confirmed already; %s to go.", isOrAre(int(held.Count), "tenant"))
		return o, nil
	}
	question := fmt.Sprintf("%s of %s will be deleted: %s. What they have goes with them, unless its deletionPolicy is Retain. There is no undo.",
		count(int(held.Count), "tenant"), o, namedTenants(held.Tenants, int(held.Count)))
	if held.Message != "" {
		question = diagnostic.Printable(held.Message) + "\n" + question
	}
	if err := s.mustConfirm(yes, question); err != nil {
		return nil, err
	}
	changed, err := s.patchObject(ctx, "confirm a deletion of", tenantRegistries, key, change{}.annotate(map[string]any{tenantv1.AnnotationConfirmDeletion: held.ID}))
	if err != nil {
		return nil, err
	}
	s.news("Confirmed. See what becomes of it:\n    yuba tenant list --registry %s", key.Name)
	return changed, nil
}

func isOrAre(n int, what string) string {
	if n == 1 {
		return count(n, what) + " is"
	}
	return count(n, what) + " are"
}
