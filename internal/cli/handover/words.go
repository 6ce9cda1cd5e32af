// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"fmt"
	"path"
	"strings"
	"time"
)

// readme says how to use the directory.
func (d *directory) readme(proof string) string {
	var b strings.Builder
	c := d.card
	fmt.Fprintf(&b, "# %s/%s\n\nYuba at %s handed this stack over at %s. It does not run it any more: the owner of this directory does.\n\n",
		c.Namespace, c.Name, c.Home, c.Since.Format(time.RFC3339))
	fmt.Fprintf(&b, "Proof: %s.\n", proof)
	switch c.To {
	case toCrossplane:
		b.WriteString("\n`resources.json` lists all resources with their ids. `manifests/` has a manifest for each resource whose kind is known, with the\n" +
			"annotation `crossplane.io/external-name` and `managementPolicies: [Observe]`. Nobody has proven them: apply them, compare what\n" +
			"Crossplane observes, fill in `forProvider`, and only then let it manage.\n")
		return b.String()
	case toImport:
		fmt.Fprintf(&b, "\n`resources.json` lists all resources with their ids, `%s` has their import blocks. There is no state: the first apply makes it.\n",
			path.Join(programDir, c.Module, importsName))
	}
	fmt.Fprintf(&b, "\nMade with %s. In this directory:\n\n    set -a; . ./%s; set +a\n    cd %s\n    tofu init\n    tofu plan\n",
		c.Tool, envName, path.Join(programDir, c.Module))
	if c.Workspace != "default" {
		fmt.Fprintf(&b, "\nIts workspace is %s, which TF_WORKSPACE in `%s` selects.\n", c.Workspace, envName)
	}
	if len(c.Withheld) > 0 {
		b.WriteString("\nThese secrets were not written. Provide them:\n\n")
		for _, what := range c.Withheld {
			fmt.Fprintf(&b, "- %s\n", strings.ReplaceAll(what, "\n", " "))
		}
	}
	b.WriteString("\nThe state and the variables may contain secrets: protect this directory.\n\n" +
		"To give the stack back to Yuba, with the state of this directory:\n\n")
	fmt.Fprintf(&b, "    yuba take-back %s/%s --from DIRECTORY\n", c.Namespace, c.Name)
	return b.String()
}
