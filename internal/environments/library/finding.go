// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"cmp"
	"fmt"
	"path"
	"slices"

	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// Code says what kind of finding one is. Codes are part of the output for programs.
type Code string

// The kinds of findings.
const (
	// Unreadable: a file or a module that could not be read, so more may be wrong.
	Unreadable Code = "unreadable"
	// NoModule: a call of a directory without a module.
	NoModule Code = "no-module"
	// Outside: a call of a directory outside of the tree, which is not read.
	Outside Code = "outside"
	// CallCycle: modules that call each other.
	CallCycle Code = "call-cycle"
	// UnknownArgument: an argument that no variable takes.
	UnknownArgument Code = "unknown-argument"
	// MissingArgument: a variable without a default that a call does not set.
	MissingArgument Code = "missing-argument"
	// WrongType: an argument whose type the variable does not take.
	WrongType Code = "wrong-type"
	// DroppedAttribute: an attribute of an object that the variable's type does not have.
	DroppedAttribute Code = "dropped-attribute"
	// UnknownCall: a reference to a call that is not there.
	UnknownCall Code = "unknown-call"
	// UnknownOutput: a reference to an output that the called module does not have.
	UnknownOutput Code = "unknown-output"
	// UnknownProvider: a call that passes a provider configuration which is not there, or which the
	// called module does not take.
	UnknownProvider Code = "unknown-provider"
	// MissingProvider: a provider configuration that the called module needs and the call does not pass.
	MissingProvider Code = "missing-provider"
	// VersionConflict: a root whose modules together allow no version of a provider.
	VersionConflict Code = "version-conflict"
	// RemovedBlock: a block that versions of the provider which the constraints allow do not have.
	RemovedBlock Code = "removed-block"
)

// Finding is a place where modules do not fit.
type Finding struct {
	Severity diagnostic.Severity `json:"severity"`
	Code     Code                `json:"code"`
	// Module is the directory of the module, File its file relative to the tree, Line counts from 1.
	Module string `json:"module"`
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	// Subject is what does not fit, such as "module.shop.url" or a provider's source.
	Subject string `json:"subject"`
	Message string `json:"message"`
}

// Place returns "FILE:LINE", or the directory.
func (f Finding) Place() string {
	if f.File == "" {
		return f.Module
	}
	return fmt.Sprintf("%s:%d", f.File, f.Line)
}

func (c *check) add(severity diagnostic.Severity, code Code, m *Module, at module.Position, subject, format string, args ...any) {
	f := Finding{Severity: severity, Code: code, Module: m.Dir, Subject: subject, Message: fmt.Sprintf(format, args...)}
	if at.File != "" {
		f.File, f.Line = path.Join(m.Dir, at.File), at.Line
	}
	c.found = append(c.found, f)
}

func (c *check) fail(code Code, m *Module, at module.Position, subject, format string, args ...any) {
	c.add(diagnostic.Error, code, m, at, subject, format, args...)
}

func (c *check) warn(code Code, m *Module, at module.Position, subject, format string, args ...any) {
	c.add(diagnostic.Warning, code, m, at, subject, format, args...)
}

// sorted orders findings by place, and removes repetitions.
func sorted(list []Finding) []Finding {
	slices.SortFunc(list, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Module, b.Module), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Code, b.Code),
			cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(list)
}
