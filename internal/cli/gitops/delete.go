// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

func newDeleteKindCommand(a *session.App, k session.Kind) *cobra.Command {
	var yes, wait bool
	cmd := &cobra.Command{
		Use: k.Word + " NAME", Aliases: k.Aliases(),
		Short:   "Delete " + k.One(),
		Long:    "Delete " + k.One() + ".",
		Example: "  " + k.Call("delete", "infra"),
		Args:    ui.Arguments(1, 1), ValidArgsFunction: a.ObjectNames(k, false),
	}
	switch {
	case k.GVK == session.Kustomizations.GVK:
		cmd.Long = "Delete a Kustomization. With spec.prune Yuba also deletes the objects that it applied, unless its spec.deletionPolicy says\notherwise; stacks among them destroy their resources if they are configured to."
	case k.GVK == session.HelmReleases.GVK:
		cmd.Long = "Delete a HelmRelease and uninstall its release. A suspended one leaves the release as it is."
	case k.GVK == session.TenantRegistries.GVK:
		cmd.Long = "Delete a TenantRegistry. Its tenants stay as they are and no longer follow its rows; their conditions say so."
	case k.GVK == session.TenantTemplates.GVK:
		cmd.Long = "Delete a TenantTemplate and its tenants. Their objects are deleted with them, unless their deletionPolicy is Retain. The\ncommand asks first. If the template is deleted by other means, such as \"yuba kubectl delete\", Yuba holds the deletion of more\nthan one tenant until somebody confirms it: see \"yuba tenant confirm\"."
	case k.GVK == session.ModuleSources.GVK:
		cmd.Long = "Delete a ModuleSource. The versions that it published stay in the registry; new tags are no longer published."
	case k.Source:
		cmd.Long = "Delete " + k.One() + ". Its users keep their resources and get no new revisions."
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVar(&wait, "wait", true, "wait until it is gone")
	cmd.RunE = a.OnObjects(k, func(ctx context.Context, s *session.Session, keys []types.NamespacedName) error {
		return deleteObject(ctx, s, k, keys[0], yes, wait)
	})
	return cmd
}

func deleteObject(ctx context.Context, s *session.Session, k session.Kind, key types.NamespacedName, yes, wait bool) error {
	o, err := s.GetObject(ctx, k, key)
	if err != nil {
		return err
	}
	if n := o.Applied(); n > 0 && o.Spec.Prune {
		if err := s.MustConfirm(yes, fmt.Sprintf("Deleting %s deletes the %s that it applied, and the resources of stacks among them that are configured to destroy them.", o, ui.Count(n, "object"))); err != nil {
			return err
		}
	}
	takeBack, err := confirmTenants(ctx, s, o, yes)
	if err != nil {
		return err
	}
	if err := s.DeleteThis(ctx, o); err != nil {
		return errors.Join(err, takeBack()) // a later deletion is not confirmed
	}
	if !wait {
		s.News("%s is being deleted.", o)
		return nil
	}
	told := ""
	gone, err := s.AwaitObject(ctx, k, key, func(now *session.Object) bool {
		if now.GetUID() != o.GetUID() {
			return true
		}
		if text := now.Message(); text != told && now.Ready().Status == "False" && !now.SaysOfBefore() {
			told = text
			s.News("Waiting: %s", ui.FirstLine(diagnostic.Printable(text), 300))
		}
		return false
	})
	if err != nil && gone == nil {
		return err
	}
	s.News("%s is deleted.", o)
	return nil
}

// confirmTenants asks before an object's tenants are deleted with it, and annotates the object, so
// that Yuba does not hold the deletion. The returned function removes the annotation.
func confirmTenants(ctx context.Context, s *session.Session, o *session.Object, yes bool) (takeBack func() error, err error) {
	n, err := tenantsWith(ctx, s, o)
	if err != nil || n == 0 {
		return func() error { return nil }, err
	}
	if err := s.MustConfirm(yes, fmt.Sprintf("Deleting %s deletes its %s with their objects, except those with deletionPolicy Retain. There is no undo.", o, ui.Count(n, "tenant"))); err != nil {
		return nil, err
	}
	say := func(ctx context.Context, what any) error {
		_, err := s.PatchObject(ctx, "confirm the deletion of", o.Kind, o.Key(), session.Change{}.Annotate(map[string]any{tenantv1.AnnotationConfirmDeletion: what}))
		return err
	}
	if err := say(ctx, string(o.GetUID())); err != nil {
		return nil, err
	}
	return func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), session.ServerPatience)
		defer cancel()
		return say(ctx, nil)
	}, nil
}

// tenantsWith counts the tenants deleted with an object. A template's status may be outdated.
func tenantsWith(ctx context.Context, s *session.Session, o *session.Object) (n int, err error) {
	if o.Kind.GVK != session.TenantTemplates.GVK {
		return 0, nil
	}
	all, err := s.TenantsOf(ctx, o.GetNamespace(), o.Text("spec", "registryId"))
	for _, t := range all {
		if t.Spec.TemplateRef == o.GetName() {
			n++
		}
	}
	return n, err
}
