// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/contracts/shape"
	"github.com/yuba-dev/yuba/internal/contracts/versions"
)

// Edition is a version of a contract with its type.
type Edition struct {
	Version versions.Version
	Type    shape.Type
}

// Contract are the facts about a contract that is declared or changed.
type Contract struct {
	Name string
	// Known are the editions that were declared before, in any order.
	Known    []Edition
	Declared Edition
}

// Reason is why a decision was made, in one word.
type Reason string

// Reasons of admissions.
const (
	// ReasonNewVersion: the version is new, and its number says what changed.
	ReasonNewVersion Reason = "NewVersion"
	// ReasonKnownVersion: the version is known with this very type.
	ReasonKnownVersion Reason = "KnownVersion"
	// ReasonVersionExists: the version is known with another type.
	ReasonVersionExists Reason = "VersionExists"
	// ReasonBreakingChange: the change breaks readers or writers, and the number does not say so.
	ReasonBreakingChange Reason = "BreakingChange"
	// ReasonTypeGrew: the type grew, and only the last number rose.
	ReasonTypeGrew Reason = "TypeGrew"
)

// Admission says whether a contract may have a version with a type.
type Admission struct {
	Allowed bool
	Reason  Reason
	Message string
	// Change is how the type changed from the version before; the zero value for the first one.
	Change shape.Change
}

// Admit decides whether a contract may have a version with a type.
func Admit(c Contract) Admission {
	d := c.Declared
	known := slices.SortedFunc(slices.Values(c.Known), func(a, b Edition) int { return a.Version.Compare(b.Version) })
	i, exists := slices.BinarySearchFunc(known, d, func(a, b Edition) int { return a.Version.Compare(b.Version) })
	switch {
	case exists && known[i].Type.Equal(d.Type):
		return Admission{Allowed: true, Reason: ReasonKnownVersion, Message: fmt.Sprintf("contract %s %s is unchanged", c.Name, d.Version)}
	case exists:
		change := shape.Compare(known[i].Type, d.Type)
		return Admission{Reason: ReasonVersionExists, Change: change, Message: fmt.Sprintf(
			"contract %s %s exists with another type, and a version never changes%s\nDeclare the new type as version %s.",
			c.Name, d.Version, differences(c.Name, change), needed(known[len(known)-1].Version, change.Level))}
	}
	a := Admission{Allowed: true, Reason: ReasonNewVersion, Message: fmt.Sprintf("contract %s %s is new", c.Name, d.Version)}
	if i > 0 {
		a.Change = shape.Compare(known[i-1].Type, d.Type)
		if refused, ok := c.refuse(known[i-1], d, a.Change); ok {
			return refused
		}
	}
	if i < len(known) { // a version between known ones
		if refused, ok := c.refuse(d, known[i], shape.Compare(d.Type, known[i].Type)); ok {
			return refused
		}
	}
	return a
}

// refuse says why two editions in a row are not numbered as their types differ. The table has the
// hardest reason first.
func (c Contract) refuse(before, after Edition, change shape.Change) (Admission, bool) {
	sameMajor := before.Version.Major() == after.Version.Major()
	sameMinor := sameMajor && before.Version.Minor() == after.Version.Minor()
	// Before 1.0.0, as semver.org has it, the second number may break.
	unbroken := sameMajor && (before.Version.Major() > 0 || sameMinor)
	for _, row := range []struct {
		is     bool
		reason Reason
		says   string
	}{
		{change.Level == shape.Major && unbroken, ReasonBreakingChange, "breaks who uses"},
		{change.Level == shape.Minor && sameMinor, ReasonTypeGrew, "has another type than"},
	} {
		if row.is {
			return Admission{Reason: row.reason, Change: change, Message: fmt.Sprintf(
				"contract %s %s %s %s%s\nDeclare it as version %s; both versions can be published side by side.",
				c.Name, after.Version, row.says, before.Version, differences(c.Name, change), needed(before.Version, change.Level))}, true
		}
	}
	return Admission{}, false
}

// needed returns the version that a change needs.
func needed(before versions.Version, level shape.Level) versions.Version {
	return before.Next(level == shape.Major)
}

// maxLines limits the lines of a list in a message; the rest is counted.
const maxLines = 10

// differences lists a change's differences, indented, after a colon.
func differences(name string, change shape.Change) string {
	var lines []string
	for _, d := range change.Readers {
		lines = append(lines, "for consumers "+d.In(name))
	}
	for _, d := range change.Writers {
		lines = append(lines, "for producers "+d.In(name))
	}
	if len(lines) == 0 {
		return "."
	}
	return ":" + indented(lines)
}

func indented(lines []string) string {
	var b strings.Builder
	for i, line := range lines {
		if i == maxLines {
			fmt.Fprintf(&b, "\n    and %d more", len(lines)-maxLines)
			break
		}
		b.WriteString("\n    " + line)
	}
	return b.String()
}
