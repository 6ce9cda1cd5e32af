// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package impact

import (
	"github.com/yuba-dev/yuba/internal/contracts/paths"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// difference is what a plan does to a part of a value. A larger one hides smaller ones.
type difference int

const (
	stays difference = iota
	// unknown: it is known after the apply only.
	unknown
	changes
)

// differ compares a part of a value before and after a plan.
func differ(part paths.Set, before, after plan.Value) difference {
	switch {
	case part.IsEmpty():
		return stays
	case after.Kind() == plan.Unknown || before.Kind() == plan.Unknown:
		return unknown
	case before.Kind() != after.Kind():
		return changes
	case after.Kind() == plan.Object:
		return differAttributes(part, before.Attributes(), after.Attributes())
	case after.Kind() == plan.List:
		return differElements(part, before.Elements(), after.Elements())
	case before.Equal(after):
		return stays
	}
	return changes
}

func differAttributes(part paths.Set, before, after map[string]plan.Value) difference {
	all := stays
	for name, was := range before {
		below := part.Attribute(name)
		if is, found := after[name]; found {
			all = max(all, differ(below, was, is))
		} else if !below.IsEmpty() {
			return changes
		}
	}
	for name := range after {
		if _, found := before[name]; !found && !part.Attribute(name).IsEmpty() {
			return changes
		}
	}
	return all
}

func differElements(part paths.Set, before, after []plan.Value) difference {
	all := stays
	for i := range max(len(before), len(after)) {
		below := part.Element(i)
		switch {
		case below.IsEmpty():
		case i >= len(before) || i >= len(after):
			return changes
		default:
			all = max(all, differ(below, before[i], after[i]))
		}
	}
	return all
}
