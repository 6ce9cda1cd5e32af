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
	cmd := treeCommand(a, session.Stacks, (*forest).wayTo, &cobra.Command{
		Use:   "tree [STACK]",
		Short: "Show the tree of sources, Kustomizations, stacks and tenants",
		Long: `Show where objects come from: the source and the revision of each Kustomization, the objects that it applied, and so on down
to the stacks, their sources and the Secrets with their outputs; the templates of each tenant registry, their tenants, and
the objects of each.

With the name of a stack the command shows the path from its source to it, without one everything in the namespace. Name a
stack that is called like one of the commands below NAMESPACE/NAME.`,
		Example: "  yuba tree\n  yuba tree vpc\n  yuba tree kustomization apps --compact\n  yuba tree kustomization apps -o json",
		Args:    ui.Arguments(0, 1),
	})
	cmd.AddCommand(treeCommand(a, session.Kustomizations, (*forest).below, &cobra.Command{
		Use: "kustomization NAME", Aliases: session.Kustomizations.Aliases(),
		Short:   "Show the objects that a Kustomization applied",
		Long:    "Show the objects that a Kustomization applied, and theirs: nested Kustomizations, sources, stacks with their revisions and outputs.",
		Example: "  yuba tree kustomization apps\n  yuba tree kustomization apps --compact -o json",
	}), treeCommand(a, session.Stacks, (*forest).wayTo, &cobra.Command{
		Use: "terraform NAME", Aliases: session.Stacks.Aliases(),
		Short:   "Show where a stack comes from",
		Long:    "Show the path from the source to a stack: its Kustomizations, its own source, and the Secret with its outputs.",
		Example: "  yuba tree terraform vpc",
	}), treeCommand(a, session.Tenants, (*forest).below, &cobra.Command{
		Use: "tenant NAME", Aliases: session.Tenants.Aliases(),
		Short:   "Show the objects of a tenant",
		Long:    "Show the objects that a tenant's template made of its row, and theirs.",
		Example: "  yuba tree tenant acme-web",
	}))
	return cmd
}

type grow func(f *forest, ctx context.Context, k session.Kind, key types.NamespacedName) ([]*treeNode, error)

// treeCommand makes cmd show the tree of the named object or, without a name, of the namespace.
func treeCommand(a *session.App, k session.Kind, tree grow, cmd *cobra.Command) *cobra.Command {
	if cmd.Args == nil {
		cmd.Args = ui.Arguments(1, 1)
	}
	cmd.ValidArgsFunction = a.ObjectNames(k, false)
	compact := cmd.Flags().Bool("compact", false, "show only sources, Kustomizations, tenants, stacks, receivers and alerts")
	out := ui.AddOutputFlag(cmd, "json", "yaml")
	cmd.RunE = a.OnObjects(k, func(ctx context.Context, s *session.Session, keys []types.NamespacedName) (err error) {
		f := &forest{Session: s, compact: *compact, read: map[listKey]map[types.NamespacedName]*session.Object{}}
		var nodes []*treeNode
		if len(keys) == 0 {
			nodes, err = f.namespace(ctx, s.Namespace)
		} else {
			nodes, err = tree(f, ctx, k, keys[0])
		}
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

// treeNode is one object of a tree, as in -o json.
type treeNode struct {
	Kind      string `json:"kind"`
	Group     string `json:"group,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Ready is the status of the condition, for kinds that have it; Message is its message.
	Ready     string `json:"ready,omitempty"`
	Message   string `json:"message,omitempty"`
	Suspended bool   `json:"suspended,omitempty"`
	Revision  string `json:"revision,omitempty"`
	Path      string `json:"path,omitempty"`
	// Source is the object's source.
	Source *treeNode `json:"source,omitempty"`
	// Outputs names the Secret with a stack's outputs.
	Outputs string `json:"outputs,omitempty"`
	// Missing: the object is in an inventory, but does not exist.
	Missing  bool        `json:"missing,omitempty"`
	Children []*treeNode `json:"children,omitempty"`
}

func (n *treeNode) String() string {
	if n.Namespace == "" {
		return n.Kind + "/" + n.Name
	}
	return fmt.Sprintf("%s/%s/%s", n.Kind, n.Namespace, n.Name)
}
