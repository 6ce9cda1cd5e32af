// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// NewCommand is "yuba registry".
func NewCommand(a *session.App) *cobra.Command {
	cmd := ui.Group(&cobra.Command{
		Use:     "registry",
		Short:   "Publish and find modules and providers",
		Long:    "Publish modules and providers in this Yuba's registry, see who uses which version, and fill the mirror of providers.",
		Example: "  yuba registry push ./vpc acme/vpc/aws@1.2.0\n  yuba registry list\n  yuba registry users acme/vpc/aws",
	},
		newHostCommand(a), newCACommand(a), newTokenCommand(a), newServeCommand(a),
		newPushCommand(a), newCopyCommand(a), newListCommand(a), newVersionsCommand(a), newShowCommand(a), newDeprecateCommand(a), newRevokeCommand(a), newUndoCommand(a),
		newUsersCommand(a), newOutdatedCommand(a), newTryCommand(a),
		newProviderCommand(a), newKeysCommand(a), newMirrorCommand(a))
	return cmd
}
