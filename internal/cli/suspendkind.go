// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// newSuspendKindCommand suspends or resumes objects that are not stacks.
func newSuspendKindCommand(a *app, k kind, suspend bool) *cobra.Command {
	verb, word, short := "suspend", "suspended", "Leave "+k.people()+" alone until they are resumed"
	long := "Leave " + k.people() + " alone until they are resumed: what changes meanwhile is not looked at. What they have made stays."
	if !suspend {
		verb, word, short = "resume", "resumed", "Let suspended "+k.people()+" go on"
		long = short + "; what changed meanwhile is looked at, at once."
	}
	var all bool
	cmd := &cobra.Command{
		Use: k.word + " NAME...", Aliases: k.aliases(), Short: short, Long: long,
		Example:           "  " + k.call(verb, "infra") + "\n  " + k.call(verb, "--all") + " -n team-a",
		ValidArgsFunction: a.objectNames(k, true),
	}
	cmd.Flags().BoolVarP(&all, "all", "A", false, "all of the namespace")
	out := addOutputFlag(cmd, "json", "yaml", "name")
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		switch {
		case all && len(args) > 0:
			return usageErrorf(cmd, "name objects or use --all, not both")
		case !all && len(args) == 0:
			return usageErrorf(cmd, "an argument is missing: %s", cmd.UseLine())
		}
		return nil
	}
	cmd.RunE = a.inSession(out, func(cmd *cobra.Command, s *session, args []string) error {
		keys, err := s.keys(cmd, k, args)
		if err != nil {
			return err
		}
		if all {
			if keys, err = s.allKeys(cmd, k); err != nil {
				return err
			}
		}
		return s.changeEach(keys, out, func(key types.NamespacedName) (*object, error) {
			o, err := s.patchObject(cmd.Context(), verb, k, key, change{Spec: map[string]any{"suspend": suspend}})
			if err == nil {
				s.news("%s is %s.", o, word)
			}
			return o, err
		})
	})
	return cmd
}

// allKeys are the names of all objects of a kind in the namespace.
func (s *session) allKeys(cmd *cobra.Command, k kind) ([]types.NamespacedName, error) {
	objects, _, err := s.listObjects(cmd.Context(), k, s.namespace)
	if err != nil {
		return nil, err
	}
	keys := make([]types.NamespacedName, 0, len(objects))
	for _, o := range objects {
		keys = append(keys, o.key())
	}
	if len(keys) == 0 {
		s.news("There are no %s in namespace %s.", k.people(), s.namespace)
	}
	return keys, nil
}

// newDeleteKindCommand deletes objects that are not stacks.
func newDeleteKindCommand(a *app, k kind) *cobra.Command {
	var yes, wait bool
	cmd := &cobra.Command{
		Use: k.word + " NAME", Aliases: k.aliases(),
		Short:   "Delete " + k.one(),
		Long:    "Delete " + k.one() + ".",
		Example: "  " + k.call("delete", "infra"),
		Args:    arguments(1, 1), ValidArgsFunction: a.objectNames(k, false),
	}
	switch {
	case k.gvk == kustomizations.gvk:
		cmd.Long = "Delete a Kustomization. With spec.prune the objects that it applied are deleted as well, unless its spec.deletionPolicy says\notherwise; a stack among them destroys what it manages if it says so."
	case k.gvk == tenantRegistries.gvk:
		cmd.Long = "Delete a TenantRegistry. Its tenants stay as they are and no longer follow its rows; their conditions say so."
	case k.gvk == tenantTemplates.gvk:
		cmd.Long = "Delete a TenantTemplate, and the tenants that were made from it. What they have goes with them, unless its deletionPolicy is\nRetain. You are asked before that. Where the template is deleted by other means, such as \"yuba kubectl delete\", more than one\ntenant is held back until somebody confirms it: see \"yuba tenant confirm\"."
	case k.source:
		cmd.Long = "Delete " + k.one() + ". Whatever uses it keeps its resources and gets no new revisions."
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "ask no question")
	cmd.Flags().BoolVar(&wait, "wait", true, "wait until it is gone")
	cmd.RunE = a.onObjects(k, nil, func(ctx context.Context, s *session, keys []types.NamespacedName) error {
		return s.deleteObject(ctx, k, keys[0], yes, wait)
	})
	return cmd
}

func (s *session) deleteObject(ctx context.Context, k kind, key types.NamespacedName, yes, wait bool) error {
	o, err := s.getObject(ctx, k, key)
	if err != nil {
		return err
	}
	if n := o.applied(); n > 0 && o.Spec.Prune {
		if err := s.mustConfirm(yes, fmt.Sprintf("Deleting %s deletes the %s that it applied, and what stacks among them manage if they say so.", o, count(n, "object"))); err != nil {
			return err
		}
	}
	takeBack, err := s.confirmTenants(ctx, o, yes)
	if err != nil {
		return err
	}
	if err := s.deleteThis(ctx, o); err != nil {
		return errors.Join(err, takeBack()) // what comes another day was not what was asked about
	}
	if !wait {
		s.news("%s is being deleted.", o)
		return nil
	}
	told := ""
	gone, err := s.awaitObject(ctx, k, key, func(now *object) verdict {
		if now.GetUID() != o.GetUID() {
			return done
		}
		if text := now.message(); text != told && now.ready().Status == "False" && !now.saysOfBefore() {
			told = text
			s.news("Waiting: %s", firstLine(diagnostic.Printable(text), 300))
		}
		return notYet
	})
	if err != nil && gone == nil {
		return err
	}
	s.news("%s is deleted.", o)
	return nil
}

// confirmTenants asks whether an object's tenants may go with it, and writes down that they may: who has just said so need not say so
// again when the tenants are held back. What it returns takes that back.
func (s *session) confirmTenants(ctx context.Context, o *object, yes bool) (takeBack func() error, err error) {
	n, err := s.tenantsWith(ctx, o)
	if err != nil || n == 0 {
		return func() error { return nil }, err
	}
	if err := s.mustConfirm(yes, fmt.Sprintf("Deleting %s deletes its %s, with what they have and is not to be retained. There is no undo.", o, count(n, "tenant"))); err != nil {
		return nil, err
	}
	say := func(ctx context.Context, what any) error {
		_, err := s.patchObject(ctx, "confirm the deletion of", o.kind, o.key(), change{}.annotate(map[string]any{tenantv1.AnnotationConfirmDeletion: what}))
		return err
	}
	if err := say(ctx, string(o.GetUID())); err != nil {
		return nil, err
	}
	return func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), serverPatience)
		defer cancel()
		return say(ctx, nil)
	}, nil
}
