// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package scaffold

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/environments/targets"
)

// Values are the placeholders of the templates, for a thing with this name on a target.
func Values(name string, t targets.Target) map[string]string {
	return map[string]string{"NAME": name, "IDENTIFIER": strings.ReplaceAll(name, "-", "_"), "TARGET": t.Name,
		"VERSIONS": versions(t), "VARIABLES": variables(t), "TFVARS": tfvars(t)}
}

// versions is a terraform block with the providers of a target.
func versions(t targets.Target) string {
	var b strings.Builder
	b.WriteString("terraform {\n  required_version = \">= 1.8\"\n")
	if len(t.Providers) > 0 {
		b.WriteString("\n  required_providers {\n")
		width := 0
		for source := range t.Providers {
			width = max(width, len(local(source)))
		}
		for _, source := range slices.Sorted(maps.Keys(t.Providers)) {
			fmt.Fprintf(&b, "    %-*s = { source = %q, version = %q }\n", width, local(source), source, t.Providers[source])
		}
		b.WriteString("  }\n")
	}
	b.WriteString("}\n")
	return b.String()
}

func local(source string) string { return source[strings.LastIndex(source, "/")+1:] }

// variableTypes are those that are not strings.
var variableTypes = map[string]string{"images": "map(string)"}

func variables(t targets.Target) string {
	var blocks []string
	for _, name := range slices.Sorted(maps.Keys(t.Variables)) {
		of := variableTypes[name]
		if of == "" {
			of = "string"
		}
		blocks = append(blocks, fmt.Sprintf("variable %q {\n  type        = %s\n  description = %q\n}\n", name, of, t.Variables[name]))
	}
	return strings.Join(blocks, "\n")
}

// tfvars is an example of values.
func tfvars(t targets.Target) string {
	var b strings.Builder
	b.WriteString("# Copy this file to terraform.tfvars, and change the values.\n")
	width := 0
	for name := range t.Variables {
		width = max(width, len(name))
	}
	for _, name := range slices.Sorted(maps.Keys(t.Variables)) {
		value := "\"example\""
		if variableTypes[name] != "" {
			value = "{}"
		}
		fmt.Fprintf(&b, "%-*s = %s\n", width, name, value)
	}
	return b.String()
}
