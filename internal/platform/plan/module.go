// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
)

// declared matches the variables that a program declares.
var declared = regexp.MustCompile(`(?m)^\s*variable\s+"?([A-Za-z_][A-Za-z0-9_-]*)"?\s*\{`)

// takesOf reports which variables of the standard interface a module is given. Modules of a library declare all
// of their phase; of other modules we know what they declare.
func takesOf(m *yubav1.PlatformModule) func(name string) bool {
	switch {
	case m.Registry != nil:
		return func(name string) bool { return slices.Contains(m.Registry.Inputs, name) }
	case m.Inline != nil:
		names := map[string]bool{}
		for _, text := range m.Inline {
			for _, match := range declared.FindAllStringSubmatch(text, -1) {
				names[match[1]] = true
			}
		}
		return func(name string) bool { return names[name] }
	}
	return func(string) bool { return true }
}

// source writes where the program of a step comes from.
func (r *region) source(s *Step, m *yubav1.PlatformModule, _ map[string]any) {
	switch {
	case m.Inline != nil:
		s.Spec.Inline = maps.Clone(m.Inline)
	case m.Registry != nil:
		s.Spec.Inline = map[string]string{"main.tf.json": callOf(m.Registry)}
	default:
		from := m.SourceRef
		if from == nil {
			from = &r.platform.Spec.Library.SourceRef
		}
		s.Spec.SourceRef = &infrav1.CrossNamespaceSourceReference{Kind: from.Kind, Name: from.Name}
		s.Spec.Path = "./" + strings.TrimPrefix(m.Path, "./")
	}
}

// callOf is a root module that calls a module of a registry with all its inputs, and has all its outputs. It is
// JSON, so that no text of a blueprint can become a program.
func callOf(m *yubav1.PlatformRegistryModule) string {
	call := map[string]any{"source": m.Source, "version": m.Version}
	root := map[string]any{"module": map[string]any{"this": call}}
	variables, outputs := map[string]any{}, map[string]any{}
	for _, name := range m.Inputs {
		call[name], variables[name] = "${var."+name+"}", map[string]any{}
	}
	for _, name := range m.Outputs {
		outputs[name] = map[string]any{"value": "${module.this." + name + "}"}
	}
	if len(variables) > 0 {
		root["variable"] = variables
	}
	if len(outputs) > 0 {
		root["output"] = outputs
	}
	text, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return "{}"
	}
	return string(text) + "\n"
}
