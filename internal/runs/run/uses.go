// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package run

import "strings"

// Uses are the modules of other origins and the providers that a run worked with, as the tool
// resolved them. They come from its list of modules and from the dependency lock file.
type Uses struct {
	Modules   []UsedModule   `json:"modules,omitempty"`
	Providers []UsedProvider `json:"providers,omitempty"`
	// MoreModules counts the modules beyond MaxUsedModules.
	MoreModules int `json:"moreModules,omitempty"`
}

// MaxUsedModules limits the modules of one run in its record.
const MaxUsedModules = 500

// UsedModule is one call of a module.
type UsedModule struct {
	// Key is the call's position in the program, such as "network.subnets".
	Key string `json:"key"`
	// Source is in the tool's notation, masked. Version is empty for sources without versions.
	Source  string `json:"source"`
	Version string `json:"version,omitempty"`
	// Constraint is the version constraint as the caller writes it; empty for none.
	Constraint string `json:"constraint,omitempty"`
	// Digest is that of the installed package's content, "h1:…"; empty if it is not known.
	Digest string `json:"digest,omitempty"`
	// Brought is true if the program's source brought the package and the list of modules: nobody has
	// checked that it is the module of that source and version.
	Brought bool `json:"brought,omitempty"`
}

// NoticePrefix begins the warnings about versions that a stack uses.
const NoticePrefix = "Uses "

// UsedProvider is one provider in the dependency lock file.
type UsedProvider struct {
	// Source is HOST/NAMESPACE/TYPE.
	Source  string `json:"source"`
	Version string `json:"version"`
	// Constraint joins the constraints of all modules.
	Constraint string `json:"constraint,omitempty"`
}

// Replacement puts another version of a module in place of what the program calls, only in the
// working copy of a run with PurposeTry.
type Replacement struct {
	// Source is the module's address, HOST/NAMESPACE/NAME/SYSTEM, and Version the exact version.
	Source  string `json:"source"`
	Version string `json:"version"`
}

// Of reports whether a call's source, as a program writes it, names the module. A source without a
// host means the tool's own registry.
func (r *Replacement) Of(source, tool string) bool {
	source, _, _ = strings.Cut(source, "//")
	switch strings.Count(source, "/") {
	case 2:
		host := "registry.opentofu.org"
		if tool == "terraform" {
			host = "registry.terraform.io"
		}
		source = host + "/" + source
	case 3:
	default:
		return false
	}
	return !strings.HasPrefix(source, ".") && strings.EqualFold(source, r.Source)
}

// PurposeTry is for speculative plans: they are never applied, and say nothing about the stack.
const PurposeTry Purpose = "try"

// Speculative reports whether the run's result says nothing about the stack.
func (s *Spec) Speculative() bool { return s.Purpose == PurposeTry }
