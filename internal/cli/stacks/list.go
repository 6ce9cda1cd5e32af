// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/listing"
	"github.com/yuba-dev/yuba/internal/cli/session"
)

// NewListCommand is "yuba list".
func NewListCommand(a *session.App) *cobra.Command {
	return listing.StackCommand(a, &cobra.Command{
		Use: "list [NAME]...", SuggestFor: []string{"ps", "stacks"},
		Aliases: []string{"ls"},
		Short:   "List the stacks of a namespace",
		Long: `List the stacks of a namespace, of all namespaces, or the named ones: whether each is ready, and a summary of its status. It is
the table of "kubectl get terraforms". With -o wide it also has the changes of the last plan, the revisions that were
applied and planned last, and the full message of Ready.

"yuba get" also lists the other kinds. List a stack that is called artifacts as NAMESPACE/artifacts.`,
		Example: "  yuba list\n  yuba list -A -o wide\n  yuba list -l team=network --watch\n  yuba list vpc dns -o json",
	})
}
