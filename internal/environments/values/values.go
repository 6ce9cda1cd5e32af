// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package values

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/kit/nearest"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// File is a file of values.
type File struct {
	// Name is shown to people.
	Name    string
	Content []byte
	// Shared files belong to several environments.
	Shared bool
}

// Given is what sets variables.
type Given struct {
	// Dir is the module's directory, for places.
	Dir   string
	Files []File
	// Flags are the names of -var, Environment those of TF_VAR_ variables.
	Flags, Environment []string
}

// Problem is a value that is missing, or that no variable takes.
type Problem struct {
	Severity diagnostic.Severity `json:"severity"`
	// Place is FILE:LINE, or a flag.
	Place   string `json:"place"`
	Name    string `json:"name"`
	Message string `json:"message"`
}

func (p Problem) String() string { return p.Place + ": " + p.Message }

// Check finds the problems of a module's values, missing ones first.
func Check(m *module.Module, given Given) []Problem {
	var found []Problem
	set, stray := map[string]bool{}, []string{}
	unknown := func(severity diagnostic.Severity, place, name string) {
		message := fmt.Sprintf("no variable is named %q", name)
		if near := nearest.Word(name, m.VariableNames(), 3); near != "" {
			message += "; did you mean " + near + "?"
		}
		stray = append(stray, name)
		found = append(found, Problem{severity, place, name, message})
	}
	take := func(severity diagnostic.Severity, place, name string) {
		if m.Variables[name] == nil {
			unknown(severity, place, name)
		}
		set[name] = true
	}
	for name, at := range m.Assigned {
		take(diagnostic.Error, path.Join(given.Dir, at.String()), name)
	}
	for _, f := range given.Files {
		names, problems := module.Assignments(f.Name, f.Content)
		for _, d := range problems {
			found = append(found, Problem{diagnostic.Error, fmt.Sprintf("%s:%d", f.Name, d.Line), "", strings.TrimSpace(d.Summary + ": " + d.Detail)})
		}
		severity := diagnostic.Error
		if f.Shared {
			severity = diagnostic.Warning
		}
		for name, at := range names {
			take(severity, fmt.Sprintf("%s:%d", f.Name, at.Line), name)
		}
	}
	for _, name := range given.Flags {
		take(diagnostic.Error, "--var "+name, name)
	}
	for _, name := range given.Environment {
		set[name] = true // others may be for other programs
	}
	for _, v := range m.Variables {
		if v.Required() && !set[v.Name] {
			found = append(found, missing(v, given.Dir, stray))
		}
	}
	slices.SortFunc(found, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Place, b.Place), cmp.Compare(a.Name, b.Name))
	})
	return found
}

// missing says which variable has no value, and which key was perhaps meant for it.
func missing(v *module.Variable, dir string, stray []string) Problem {
	message := fmt.Sprintf("the variable %q has no value", v.Name)
	if text := strings.TrimSpace(v.Description); text != "" {
		message += " (" + strings.TrimSuffix(strings.SplitN(text, "\n", 2)[0], ".") + ")"
	}
	if near := nearest.Word(v.Name, stray, 3); near != "" {
		message += fmt.Sprintf("; there is a value for %q", near)
	}
	return Problem{diagnostic.Error, path.Join(dir, v.Pos.String()), v.Name, message}
}
