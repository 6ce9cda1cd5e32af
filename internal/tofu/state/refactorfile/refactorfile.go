// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package refactorfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/tofu/state/moves"
)

const (
	// MaxSize limits a file, maxSteps its steps.
	MaxSize  = 4 << 20
	maxSteps = 50_000
	// dirMark begins a reference by directory. No stack has such a name.
	dirMark = "dir:"
)

// File is what a file says.
type File struct {
	// Steps are the changes of states, in the order of the file.
	Steps []moves.Step
	// Imports are objects that the plans have to import.
	Imports []Import
	// Expected are the changes that plans have, by stack.
	Expected map[string]*Expected
	// Workspaces are those that tfmigrate's blocks name, by reference.
	Workspaces map[string]string
}

// Import is an object that a stack's next plan imports: its program has the import block for it.
type Import struct{ Stack, Address, ID, Place string }

// Expected are the changes that a stack's plan has after the states changed. Everything else must stay
// as it is. Each named change must be in the plan.
type Expected struct {
	Create, Update, Replace, Destroy []string
	// Outputs are those that change or disappear. New ones need no mention.
	Outputs []string
}

// Dir returns the directory of a reference, if it is one.
func Dir(reference string) (dir string, ok bool) { return strings.CutPrefix(reference, dirMark) }

// References returns everything that the file names as a state, sorted.
func (m *File) References() []string {
	found := map[string]bool{}
	for _, s := range m.Steps {
		found[s.State], found[s.ToState] = true, true
	}
	for _, i := range m.Imports {
		found[i.Stack] = true
	}
	for name := range m.Expected {
		found[name] = true
	}
	delete(found, "")
	return slices.Sorted(maps.Keys(found))
}

// Resolve replaces all references by names of stacks.
func (m *File) Resolve(name func(reference string) (string, error)) error {
	names := map[string]string{"": ""}
	for _, reference := range m.References() {
		var err error
		if names[reference], err = name(reference); err != nil {
			return err
		}
	}
	for i := range m.Steps {
		m.Steps[i].State, m.Steps[i].ToState = names[m.Steps[i].State], names[m.Steps[i].ToState]
	}
	for i := range m.Imports {
		m.Imports[i].Stack = names[m.Imports[i].Stack]
	}
	expected := map[string]*Expected{}
	for reference, e := range m.Expected {
		if other := expected[names[reference]]; other != nil {
			return fmt.Errorf("the changes of %s are expected twice, in different words", names[reference])
		}
		expected[names[reference]] = e
	}
	m.Expected = expected
	return nil
}
