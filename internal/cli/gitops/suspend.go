// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/cli/listing"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// newSuspendKindCommand suspends or resumes objects that are not stacks.
func newSuspendKindCommand(a *session.App, k session.Kind, suspend bool) *cobra.Command {
	verb, word, short := "suspend", "suspended", "Suspend "+k.People()+" until they are resumed"
	long := "Suspend " + k.People() + " until they are resumed: Yuba does not reconcile changes made meanwhile. Objects that they created stay."
	if !suspend {
		verb, word, short = "resume", "resumed", "Resume suspended "+k.People()
		long = short + ". Yuba reconciles changes made meanwhile at once."
	}
	var all bool
	cmd := &cobra.Command{
		Use: k.Word + " NAME...", Aliases: k.Aliases(), Short: short, Long: long,
		Example:           "  " + k.Call(verb, "infra") + "\n  " + k.Call(verb, "--all") + " -n team-a",
		ValidArgsFunction: a.ObjectNames(k, true),
	}
	cmd.Flags().BoolVarP(&all, "all", "A", false, "all of the namespace")
	out := ui.AddOutputFlag(cmd, "json", "yaml", "name")
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		switch {
		case all && len(args) > 0:
			return ui.UsageErrorf(cmd, "name objects or use --all, not both")
		case !all && len(args) == 0:
			return ui.UsageErrorf(cmd, "an argument is missing: %s", cmd.UseLine())
		}
		return nil
	}
	cmd.RunE = a.InSession(out, func(cmd *cobra.Command, s *session.Session, args []string) error {
		keys, err := s.Keys(cmd, k, args)
		if err != nil {
			return err
		}
		if all {
			if keys, err = allKeys(s, cmd, k); err != nil {
				return err
			}
		}
		return listing.ChangeEach(s, keys, out, func(key types.NamespacedName) (*session.Object, error) {
			o, err := s.PatchObject(cmd.Context(), verb, k, key, session.Change{Spec: map[string]any{"suspend": suspend}})
			if err == nil {
				s.News("%s is %s.", o, word)
			}
			return o, err
		})
	})
	return cmd
}

// allKeys are the names of all objects of a kind in the namespace.
func allKeys(s *session.Session, cmd *cobra.Command, k session.Kind) ([]types.NamespacedName, error) {
	objects, _, err := s.ListObjects(cmd.Context(), k, s.Namespace)
	if err != nil {
		return nil, err
	}
	keys := make([]types.NamespacedName, 0, len(objects))
	for _, o := range objects {
		keys = append(keys, o.Key())
	}
	if len(keys) == 0 {
		s.News("No %s found in namespace %s.", k.People(), s.Namespace)
	}
	return keys, nil
}
