// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"encoding/json"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// Module is what a published module contains. Its JSON form is stored and served.
type Module struct {
	Interface
	// Submodules and Examples are sorted by path.
	Submodules []Part `json:"submodules,omitempty"`
	Examples   []Part `json:"examples,omitempty"`
	// Files is the number of files, Unpacked their total size in bytes.
	Files    int   `json:"files"`
	Unpacked int64 `json:"unpacked"`
	// Stripped is the directory around the module in the archive that was read; usually empty.
	Stripped string `json:"stripped,omitempty"`
}

// Part is a submodule or an example.
type Part struct {
	// Path is relative to the module, such as "modules/subnet".
	Path string `json:"path"`
	Interface
}

// Interface is what one directory declares. All lists are sorted by name.
type Interface struct {
	Inputs  []Input  `json:"inputs,omitempty"`
	Outputs []Output `json:"outputs,omitempty"`
	// Providers are the required ones, also those that only resources or local modules imply.
	Providers []Provider `json:"providers,omitempty"`
	// Tool holds the constraints on the version of tofu, or terraform.
	Tool  []string `json:"tool,omitempty"`
	Calls []Call   `json:"calls,omitempty"`
	// Readme is the text of the README; cut if it is very large.
	Readme string `json:"readme,omitempty"`
	// Warnings are problems that prevent nobody from using the module.
	Warnings []string `json:"warnings,omitempty"`
}

// Input is a declared variable.
type Input struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Type is the type as it is written; empty if none is declared.
	Type string `json:"type,omitempty"`
	// Cty is the type constraint in cty's JSON form. It is "dynamic" for any type.
	Cty json.RawMessage `json:"cty"`
	// Optional is true if the input has a default. Default is its value; nil if it is not a
	// constant, too large, or the default of a sensitive input.
	Optional  bool            `json:"optional,omitempty"`
	Default   json.RawMessage `json:"default,omitempty"`
	Sensitive bool            `json:"sensitive,omitempty"`
	Ephemeral bool            `json:"ephemeral,omitempty"`
	Nullable  bool            `json:"nullable"`
	Pos       module.Position `json:"pos"`
}

// Output is a declared output.
type Output struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Sensitive   bool            `json:"sensitive,omitempty"`
	Ephemeral   bool            `json:"ephemeral,omitempty"`
	Pos         module.Position `json:"pos"`
}

// Provider is a required provider.
type Provider struct {
	// Source is as written, or implied: "hashicorp/aws".
	Source string `json:"source"`
	// Name is the local name; empty if only local modules require the provider.
	Name     string   `json:"name,omitempty"`
	Versions []string `json:"versions,omitempty"`
	// Aliases are the configurations that callers must pass, such as "aws.east".
	Aliases []string `json:"aliases,omitempty"`
}

// Call is a call of another module.
type Call struct {
	Name    string          `json:"name"`
	Source  string          `json:"source"`
	Version string          `json:"version,omitempty"`
	Pos     module.Position `json:"pos"`
}

// ChangeKind says what changed.
type ChangeKind string

// The kinds of changes.
const (
	InputRemoved     ChangeKind = "InputRemoved"
	InputRenamed     ChangeKind = "InputRenamed"
	InputAdded       ChangeKind = "InputAdded"
	InputRequired    ChangeKind = "InputRequired"
	InputRetyped     ChangeKind = "InputRetyped"
	InputChanged     ChangeKind = "InputChanged"
	OutputRemoved    ChangeKind = "OutputRemoved"
	OutputAdded      ChangeKind = "OutputAdded"
	OutputChanged    ChangeKind = "OutputChanged"
	ProviderAdded    ChangeKind = "ProviderAdded"
	ProviderRemoved  ChangeKind = "ProviderRemoved"
	ProviderChanged  ChangeKind = "ProviderChanged"
	ToolChanged      ChangeKind = "ToolChanged"
	SubmoduleRemoved ChangeKind = "SubmoduleRemoved"
	SubmoduleAdded   ChangeKind = "SubmoduleAdded"
)

// Change is one difference between two interfaces.
type Change struct {
	Kind     ChangeKind `json:"kind"`
	Breaking bool       `json:"breaking"`
	// Path is the submodule; empty for the module itself.
	Path string `json:"path,omitempty"`
	// Name is the input, output, provider or submodule.
	Name string `json:"name,omitempty"`
	// Message is one sentence for people.
	Message string `json:"message"`
	// Pos is where the changed declaration is; of a removed one, where it was.
	Pos *module.Position `json:"pos,omitempty"`
}

// Breaking returns the breaking changes.
func Breaking(changes []Change) []Change {
	var out []Change
	for _, c := range changes {
		if c.Breaking {
			out = append(out, c)
		}
	}
	return out
}

// Module returns what the interface declares as a parsed module. Types whose form is not known allow any
// value.
func (i *Interface) Module() *module.Module {
	m := &module.Module{Variables: map[string]*module.Variable{}, Outputs: map[string]*module.Output{}}
	for _, in := range i.Inputs {
		kind, err := ctyjson.UnmarshalType(in.Cty)
		if err != nil {
			kind = cty.DynamicPseudoType
		}
		m.Variables[in.Name] = &module.Variable{Name: in.Name, Description: in.Description, Type: kind, Written: in.Type, HasDefault: in.Optional,
			Default: in.Default, Sensitive: in.Sensitive, Ephemeral: in.Ephemeral, Nullable: in.Nullable, Pos: in.Pos}
	}
	for _, out := range i.Outputs {
		m.Outputs[out.Name] = &module.Output{Name: out.Name, Description: out.Description, Sensitive: out.Sensitive, Ephemeral: out.Ephemeral, Pos: out.Pos}
	}
	return m
}
