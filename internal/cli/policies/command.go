// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// NewCommand is "yuba policy".
func NewCommand(a *session.App) *cobra.Command {
	return ui.Group(&cobra.Command{
		Use: "policy", Aliases: []string{"policies"}, SuggestFor: []string{"rule", "rules", "opa", "sentinel", "conftest"},
		Short: "See which policies judge plans and what they find; try and test policies",
		Long: `See which policies judge the plans of stacks and what they find, try a policy on the last plans before you apply it, and test
policies with stored plans. The commands change nothing. Apply policies like other objects, with kubectl or from a source.`,
		Example: "  yuba policy list\n  yuba policy explain vpc\n  yuba policy try safe.yaml\n  yuba policy test ./policies",
	}, newListCommand(a), newRulesCommand(a), newExplainCommand(a), newFactsCommand(a), newTryCommand(a), newTestCommand(a))
}
