// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// NewTreeCommand is "yuba tree".
func NewTreeCommand(a *session.App) *cobra.Command {
	cmd := treeCommand(a, &cobra.Command{
		Use:   "tree [STACK]",
		Short: "Show the tree of sources, Kustomizations, stacks and tenants",
		Long: `Show where objects come from: the source and the revision of each Kustomization, the objects that it applied, and so on down
to the stacks, their sources and the Secrets with their outputs; the templates of each tenant registry, their tenants, and
the objects of each.

With the name of a stack the command shows the path from its source to it, without one everything in the namespace. Name a
stack that is called like one of the commands below NAMESPACE/NAME.`,
		Example: "  yuba tree\n  yuba tree vpc\n  yuba tree kustomization apps --compact\n  yuba tree kustomization apps -o json",
		Args:    ui.Arguments(0, 1), ValidArgsFunction: a.ObjectNames(session.Stacks, false),
	}, func(ctx context.Context, f *forest, args []types.NamespacedName) ([]*treeNode, error) {
		if len(args) == 0 {
			return f.namespace(ctx, f.Session.Namespace)
		}
		return f.wayTo(ctx, session.Stacks, args[0])
	}, session.Stacks)
	cmd.AddCommand(treeCommand(a, &cobra.Command{
		Use: "kustomization NAME", Aliases: session.Kustomizations.Aliases(),
		Short:   "Show the objects that a Kustomization applied",
		Long:    "Show the objects that a Kustomization applied, and theirs: nested Kustomizations, sources, stacks with their revisions and outputs.",
		Example: "  yuba tree kustomization apps\n  yuba tree kustomization apps --compact -o json",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: a.ObjectNames(session.Kustomizations, false),
	}, func(ctx context.Context, f *forest, args []types.NamespacedName) ([]*treeNode, error) {
		return f.below(ctx, session.Kustomizations, args[0])
	}, session.Kustomizations))
	cmd.AddCommand(treeCommand(a, &cobra.Command{
		Use: "terraform NAME", Aliases: session.Stacks.Aliases(),
		Short:   "Show where a stack comes from",
		Long:    "Show the path from the source to a stack: its Kustomizations, its own source, and the Secret with its outputs.",
		Example: "  yuba tree terraform vpc",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: a.ObjectNames(session.Stacks, false),
	}, func(ctx context.Context, f *forest, args []types.NamespacedName) ([]*treeNode, error) {
		return f.wayTo(ctx, session.Stacks, args[0])
	}, session.Stacks))
	cmd.AddCommand(treeCommand(a, &cobra.Command{
		Use: "tenant NAME", Aliases: session.Tenants.Aliases(),
		Short:   "Show the objects of a tenant",
		Long:    "Show the objects that a tenant's template made of its row, and theirs.",
		Example: "  yuba tree tenant acme-web",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: a.ObjectNames(session.Tenants, false),
	}, func(ctx context.Context, f *forest, args []types.NamespacedName) ([]*treeNode, error) {
		return f.below(ctx, session.Tenants, args[0])
	}, session.Tenants))
	return cmd
}

type grow func(ctx context.Context, f *forest, args []types.NamespacedName) ([]*treeNode, error)

func treeCommand(a *session.App, cmd *cobra.Command, roots grow, k session.Kind) *cobra.Command {
	var compact bool
	cmd.Flags().BoolVar(&compact, "compact", false, "show only sources, Kustomizations, tenants, stacks, receivers and alerts")
	out := ui.AddOutputFlag(cmd, "json", "yaml")
	cmd.RunE = a.OnObjects(k, out, func(ctx context.Context, s *session.Session, keys []types.NamespacedName) error {
		f := &forest{Session: s, compact: compact, read: map[listKey]map[types.NamespacedName]*session.Object{}}
		nodes, err := roots(ctx, f, keys)
		switch {
		case err != nil:
			return err
		case out.Machine():
			return out.Print(s.Out, append([]*treeNode{}, nodes...))
		case len(nodes) == 0:
			s.News("No sources, Kustomizations, tenants or stacks found in namespace %s.", s.Namespace)
			return nil
		}
		p := treePrinter{w: s.Out, paint: func(color, text string) string { return s.Paint(s.Out, color, text) }}
		for _, n := range nodes {
			p.show(n, "", "")
		}
		return nil
	})
	return cmd
}

// treeNode is one object of a tree, as it is answered to programs.
type treeNode struct {
	Kind      string `json:"kind"`
	Group     string `json:"group,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Ready is the status of the condition, of those kinds that have it; Message is what it says.
	Ready     string `json:"ready,omitempty"`
	Message   string `json:"message,omitempty"`
	Suspended bool   `json:"suspended,omitempty"`
	Revision  string `json:"revision,omitempty"`
	Path      string `json:"path,omitempty"`
	// Source is what it was made from.
	Source *treeNode `json:"source,omitempty"`
	// Outputs names the Secret with a stack's outputs.
	Outputs string `json:"outputs,omitempty"`
	// Missing says that the object is in an inventory and is not there.
	Missing  bool        `json:"missing,omitempty"`
	Children []*treeNode `json:"children,omitempty"`
}

func (n *treeNode) String() string {
	if n.Namespace == "" {
		return n.Kind + "/" + n.Name
	}
	return fmt.Sprintf("%s/%s/%s", n.Kind, n.Namespace, n.Name)
}
