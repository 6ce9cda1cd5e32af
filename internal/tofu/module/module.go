// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/zclconf/go-cty/cty"
)

// Module is what a root module declares.
type Module struct {
	// Files are the relevant configuration files, sorted.
	Files     []string
	Variables map[string]*Variable
	Outputs   map[string]*Output
	// Backend is the declared backend; nil if there is none.
	Backend *Backend
	// Encrypted is true if the module configures encryption of states or plans.
	Encrypted bool
	// Assigned are variables with a value in terraform.tfvars or an *.auto.tfvars file beside the
	// module.
	Assigned map[string]Position
	// RequiredVersion holds the constraints on the tool's version.
	RequiredVersion []string
	// RequiredProviders are declared by local name.
	RequiredProviders map[string]Provider
}

// Position is the position of a declaration.
type Position struct {
	File string `json:"file"`
	Line int    `json:"line"`
}

// String returns "main.tf:3".
func (p Position) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// Variable is a declared input variable.
type Variable struct {
	Name        string
	Description string
	// Type is the type constraint; [cty.DynamicPseudoType] if any type is allowed.
	Type cty.Type
	// Defaults are the defaults of optional attributes in Type; may be nil.
	Defaults *typeexpr.Defaults
	// Written is the type as in the configuration; empty if none is declared.
	Written    string
	HasDefault bool
	// Default is the default as JSON; nil if it is not a constant, too large, or sensitive.
	Default json.RawMessage
	// Sensitive is also true if it is not a literal, and so might be.
	Sensitive bool
	Ephemeral bool
	Nullable  bool
	Pos       Position
}

// Required reports whether a value is required.
func (v *Variable) Required() bool { return !v.HasDefault }

// TypeString formats the type constraint as in configuration.
func (v *Variable) TypeString() string { return typeexpr.TypeString(v.Type) }

// Output is a declared output.
type Output struct {
	Name        string
	Description string
	Sensitive   bool
	Ephemeral   bool
	Pos         Position
}

// Backend is a declared backend. Its configuration is not read.
type Backend struct {
	// Type is the backend's name, or "cloud" for a cloud block.
	Type string
	Pos  Position
}

// Provider is a required provider.
type Provider struct {
	Source  string
	Version string
	// Aliases are the configurations that callers must pass, such as "aws.east".
	Aliases []string
}

// WithAssigned returns the module for the case that other files also set these variables.
func (m *Module) WithAssigned(names map[string]Position) *Module {
	with := *m
	with.Assigned = maps.Clone(m.Assigned)
	maps.Copy(with.Assigned, names)
	return &with
}

// VariableNames returns the names of the declared variables, sorted.
func (m *Module) VariableNames() []string { return slices.Sorted(maps.Keys(m.Variables)) }
