// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package publishmodule

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/yuba-dev/yuba/internal/contracts/shape"
	"github.com/yuba-dev/yuba/internal/contracts/validation"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// maxGuards limits the guards of a module. Yuba checks what they leave out.
const maxGuards = 200

// value is the variable in OpenTofu's language.
const value = "var.value"

// Note is a remark about a part.
type Note struct{ Path, Message string }

// Edition is a version of a contract.
type Edition struct {
	Namespace, Contract, Version string
	Type                         shape.Type
	// Private are the private paths.
	Private     []string
	Deprecated  []Note
	Validations *validation.Validations
}

// Files are the files of the module.
func (e Edition) Files() map[string]string {
	return map[string]string{"main.tf": e.program(), "README.md": e.readme()}
}

func (e Edition) program() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Yuba made this module from version %s of the Contract %s in namespace %s.\n\n", e.Version, e.Contract, e.Namespace)
	b.WriteString("terraform {\n  required_version = \">= 1.5\" # for strcontains\n}\n\nvariable \"value\" {\n")
	fmt.Fprintf(&b, "  description = %s\n  type = %s\n  nullable = false\n", quoted(e.description()), e.Type)
	if len(e.Private) > 0 {
		b.WriteString("  sensitive = true\n")
	}
	guards := guardsOf(e.Type)
	for _, g := range guards[:min(len(guards), maxGuards)] {
		validate(&b, g.condition, fmt.Sprintf("%s is null. Contract %s %s requires a value (%s).", g.path, e.Contract, e.Version, g.of))
	}
	var left []string
	for _, c := range e.Validations.HCL(e.Type, value) {
		if c.HCL == "" {
			left = append(left, c.Text)
			continue
		}
		validate(&b, c.HCL, c.Message)
	}
	b.WriteString("}\n\n")
	for i, text := range left {
		if i == 0 {
			b.WriteString("# Yuba checks these validations of the contract, which OpenTofu's language cannot say in the same way:\n")
		}
		fmt.Fprintf(&b, "#   %s\n", shorten.Line(text))
	}
	if len(left) > 0 {
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "output \"value\" {\n  description = %s\n  value = var.value\n", quoted("The value, for the output that spec.publishes names."))
	if len(e.Private) > 0 {
		b.WriteString("  sensitive = true\n")
	}
	b.WriteString("}\n")
	return string(hclwrite.Format([]byte(b.String())))
}

func validate(b *strings.Builder, condition, message string) {
	fmt.Fprintf(b, "\n  validation {\n    condition = %s\n    error_message = %s\n  }\n", condition, quoted(message))
}

// description says what a user should know of the value.
func (e Edition) description() string {
	text := fmt.Sprintf("The value of contract %s %s.", e.Contract, e.Version)
	if len(e.Private) > 0 {
		text += " Private: " + strings.Join(e.Private, ", ") + "."
	}
	for _, d := range e.Deprecated {
		text += " Deprecated: " + d.Path
		if d.Message != "" {
			text += " (" + shorten.Line(d.Message) + ")"
		}
		text += "."
	}
	return text
}

func (e Edition) readme() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Contract %s %s\n\nOpenTofu checks the value of this contract of namespace %s when it plans:\n\n", e.Contract, e.Version, e.Namespace)
	fmt.Fprintf(&b, "    module \"%s\" {\n      source  = \"REGISTRY/contracts/%s/publish\"\n      version = \"%s\"\n      value   = { … }\n    }\n", e.Contract, e.Contract, e.Version)
	fmt.Fprintf(&b, "    output \"%s\" {\n      value = module.%s.value\n", e.Contract, e.Contract)
	if len(e.Private) > 0 {
		b.WriteString("      sensitive = true\n")
	}
	fmt.Fprintf(&b, "    }\n\nThe type is\n\n    %s\n", e.Type)
	for _, p := range slices.Sorted(slices.Values(e.Private)) {
		fmt.Fprintf(&b, "\n- `%s` is private.", p)
	}
	for _, d := range e.Deprecated {
		fmt.Fprintf(&b, "\n- `%s` is deprecated. %s", d.Path, shorten.Line(d.Message))
	}
	return strings.TrimRight(b.String(), "\n ") + "\n"
}

func quoted(s string) string { return string(hclwrite.TokensForValue(cty.StringVal(s)).Bytes()) }
