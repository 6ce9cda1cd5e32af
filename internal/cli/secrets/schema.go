// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/secrets/declare"
)

func (g *group) newSchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of secrets.yaml, for editors",
		Long: `Print the JSON schema of secrets.yaml. Editors with the YAML language server complete and check the file if its first line names
the schema:

    # yaml-language-server: $schema=secrets.schema.json`,
		Example: "  yuba secrets schema > environments/staging/secrets.schema.json",
		Args:    ui.Arguments(0, 0), ValidArgsFunction: ui.NoNames,
		RunE: func(*cobra.Command, []string) error {
			schema, err := declare.Schema()
			if err != nil {
				return err
			}
			_, err = g.Out.Write(schema)
			return err
		},
	}
}
