// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

const (
	resourcesName = "resources.json"
	importsName   = "yuba_imports.tf"
)

// resource is a managed resource, without its attributes.
type resource struct {
	Address  string `json:"address"`
	Type     string `json:"type"`
	Provider string `json:"provider"`
	ID       string `json:"id,omitempty"`
	// Deposed: it has a replacement, and is still to be destroyed. No owner can import it.
	Deposed    bool `json:"deposed,omitempty"`
	attributes json.RawMessage
}

func resourcesOf(file *statefile.File) []resource {
	var all []resource
	for _, r := range file.Resources {
		if r.Mode == "managed" {
			all = append(all, resource{r.Address, r.Type, r.ProviderAddr, r.ID, r.Deposed != "", r.Attributes})
		}
	}
	return all
}

func (d *directory) writeResources(all []resource) error {
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return d.replace(filepath.Join(d.path, resourcesName), append(text, '\n'))
}

// imports reports whether a resource gets an import block.
func (r resource) imports(leave []string) bool {
	return r.ID != "" && !r.Deposed && !slices.Contains(leave, r.Address)
}

// writeImports writes a block for each resource with an id.
func (d *directory) writeImports(all []resource, leave []string) error {
	var b strings.Builder
	b.WriteString("# Import blocks of all resources, by the ids in the state that Yuba had. Delete this file after the first apply.\n")
	for _, r := range all {
		if !r.imports(leave) {
			why := "its state has no attribute id"
			switch {
			case r.Deposed:
				why = "it is deposed: destroy it"
			case r.ID != "":
				why = "left out with --leave"
			}
			fmt.Fprintf(&b, "\n# %s is not imported: %s.\n", oneLine(r.Address), why)
			continue
		}
		fmt.Fprintf(&b, "\nimport {\n  to = %s\n  id = %s\n}\n", r.Address, quoted(r.ID))
	}
	return d.replace(filepath.Join(d.module(), importsName), []byte(b.String()))
}

func oneLine(text string) string { return strings.ReplaceAll(text, "\n", " ") }

// quoted is a string in HCL: an id is hostile, and may look like a template.
func quoted(text string) string {
	q := strconv.Quote(text)
	q = strings.ReplaceAll(q, "${", "$${")
	return strings.ReplaceAll(q, "%{", "%%{")
}
