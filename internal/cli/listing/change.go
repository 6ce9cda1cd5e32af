// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package listing

import (
	"context"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// A Changer checks one object, changes it, and tells people about it.
type Changer func(ctx context.Context, s *session.Session, key types.NamespacedName) (*session.Object, error)

// OnEach makes the action of a command that changes the named objects of a kind.
func OnEach(a *session.App, k session.Kind, out *ui.Output, change Changer) func(*cobra.Command, []string) error {
	return a.OnObjects(k, func(ctx context.Context, s *session.Session, keys []types.NamespacedName) error {
		return changeEach(ctx, s, k, keys, out, change)
	})
}

// changeEach changes one object after the other, and stops at the first failure.
func changeEach(ctx context.Context, s *session.Session, k session.Kind, keys []types.NamespacedName, out *ui.Output, change Changer) error {
	var changed []*session.Object
	for _, key := range keys {
		o, err := change(ctx, s, key)
		if err != nil {
			return err
		}
		changed = append(changed, o)
	}
	return ShowChanged(s, k, out, changed...)
}

// ShowChanged shows changed objects of a kind to programs. People read the news.
func ShowChanged(s *session.Session, k session.Kind, out *ui.Output, objects ...*session.Object) error {
	if !out.Machine() {
		return nil
	}
	return NewView(s, Query{typed: k.GVK == session.StackKind}, out).Show(objects)
}

// SuspendCommand makes cmd suspend or resume objects: the named ones, or all of the namespace.
func SuspendCommand(a *session.App, k session.Kind, suspend bool, cmd *cobra.Command) *cobra.Command {
	var all, everywhere bool
	cmd.ValidArgsFunction = a.ObjectNames(k, true)
	cmd.Flags().BoolVarP(&all, "all", "A", false, "all "+k.People()+" of the namespace")
	if k.GVK == session.StackKind {
		cmd.Flags().BoolVar(&everywhere, "all-namespaces", false, "all stacks of all namespaces")
	}
	out := ui.AddOutputFlag(cmd, "json", "yaml", "name")
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		switch {
		case all && everywhere:
			return ui.UsageErrorf(cmd, "use --all or --all-namespaces, not both")
		case (all || everywhere) && len(args) > 0:
			return ui.UsageErrorf(cmd, "name %s or use --all, not both", k.People())
		case !all && !everywhere && len(args) == 0:
			return ui.UsageErrorf(cmd, "an argument is missing: %s", cmd.UseLine())
		}
		return nil
	}
	verb, word := "resume", "resumed"
	if suspend {
		verb, word = "suspend", "suspended"
	}
	change := func(ctx context.Context, s *session.Session, key types.NamespacedName) (*session.Object, error) {
		o, err := s.PatchObject(ctx, verb, k, key, session.Change{Spec: map[string]any{"suspend": suspend}})
		switch {
		case err != nil:
		case k.GVK == session.StackKind:
			s.News("%s is %s.", key, word)
		default:
			s.News("%s is %s.", o, word)
		}
		return o, err
	}
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		keys, err := s.Keys(cmd, k, args)
		if err == nil && (all || everywhere) {
			keys, err = allKeys(cmd.Context(), s, k, everywhere)
		}
		if err != nil {
			return err
		}
		return changeEach(cmd.Context(), s, k, keys, out, change)
	})
	return cmd
}

// allKeys are the keys of all objects of a kind in the namespace, or in all.
func allKeys(ctx context.Context, s *session.Session, k session.Kind, everywhere bool) ([]types.NamespacedName, error) {
	namespace, where := s.Namespace, " in namespace "+s.Namespace
	if everywhere {
		namespace, where = "", ""
	}
	objects, _, err := s.ListObjects(ctx, k, namespace)
	keys := make([]types.NamespacedName, 0, len(objects))
	for _, o := range objects {
		keys = append(keys, o.Key())
	}
	if err == nil && len(keys) == 0 {
		s.News("No %s found%s.", k.People(), where)
	}
	return keys, err
}
