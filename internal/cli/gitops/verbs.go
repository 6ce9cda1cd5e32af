// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/listing"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// Verbs are the commands about stacks that also have commands for other kinds.
type Verbs struct{ Create, Delete, Reconcile, Suspend, Resume *cobra.Command }

// AddKinds gives each verb its commands for objects that are not stacks.
func (v Verbs) AddKinds(a *session.App) {
	for _, k := range session.AllKinds {
		if k.GVK == session.StackKind {
			continue
		}
		if blueprints[k.Plural] != nil {
			addKind(v.Create, k, newCreateKindCommand(a, k))
		}
		if !k.Made {
			addKind(v.Delete, k, newDeleteKindCommand(a, k))
		}
		if k.Fetched {
			addKind(v.Reconcile, k, newReconcileKindCommand(a, k))
		}
		if k.Suspends {
			addKind(v.Suspend, k, newSuspendKindCommand(a, k, true))
			addKind(v.Resume, k, newSuspendKindCommand(a, k, false))
		}
	}
}

// addKind adds the command for a kind to a verb, below the word source for sources.
func addKind(verb *cobra.Command, k session.Kind, cmd *cobra.Command) {
	if !k.Source {
		verb.AddCommand(cmd)
		return
	}
	at := slices.IndexFunc(verb.Commands(), func(c *cobra.Command) bool { return c.Name() == "source" })
	if at < 0 {
		short := strings.ToUpper(verb.Name()[:1]) + verb.Name()[1:] + " a Git, OCI, bucket, Helm or module source"
		verb.AddCommand(ui.Group(&cobra.Command{
			Use: "source COMMAND", Aliases: []string{"sources"},
			Short:   short,
			Long:    short + ": a GitRepository, OCIRepository or Bucket of stacks and Kustomizations, a HelmRepository or HelmChart\nof HelmReleases, or a ModuleSource of the registry.",
			Example: cmd.Example,
		}, cmd))
		return
	}
	verb.Commands()[at].AddCommand(cmd)
}

func newSuspendKindCommand(a *session.App, k session.Kind, suspend bool) *cobra.Command {
	verb, short := "resume", "Resume suspended "+k.People()
	long := short + ". Yuba reconciles changes made meanwhile at once."
	if suspend {
		verb, short = "suspend", "Suspend "+k.People()+" until they are resumed"
		long = short + ": Yuba does not reconcile changes made meanwhile. Objects that they created stay."
	}
	return listing.SuspendCommand(a, k, suspend, &cobra.Command{
		Use: k.Word + " NAME...", Aliases: k.Aliases(), Short: short, Long: long,
		Example: "  " + k.Call(verb, "infra") + "\n  " + k.Call(verb, "--all") + " -n team-a",
	})
}
