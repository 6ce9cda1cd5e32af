// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package impact

import (
	"fmt"
	"maps"
	"slices"

	"github.com/yuba-dev/yuba/internal/contracts/paths"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// maxInputs limits the inputs of a reached stack: people read the first ones, and the plan has all.
const maxInputs = 20

// Input is a part that a stack reads and that a plan changes.
type Input struct {
	// From is the producer, NAMESPACE/NAME. Through is the contract with its range, or the Secret.
	From    string `json:"from"`
	Through string `json:"through"`
	// Path is the output, and the path of the part in it, such as base.subnets[0].id.
	Path string `json:"path"`
	// Before and After are its redacted values. A part that is not there is null.
	Before plan.Value `json:"before"`
	After  plan.Value `json:"after"`
}

// inputs are the parts that an edge leads to its consumer and that the plan of its producer changes.
func (p Plans) inputs(e *Edge) (list []Input) {
	c := p[e.Producer]
	for _, output := range slices.Sorted(maps.Keys(c)) {
		if !e.every && !slices.Contains(e.outputs, output) {
			continue
		}
		parts(e.reads, c[output].Before, c[output].After, output, func(path string, before, after plan.Value) {
			if len(list) < maxInputs {
				list = append(list, Input{From: e.Producer, Through: e.way(), Path: path, Before: before, After: after})
			}
		})
	}
	return list
}

// parts calls found for each smallest part that differs.
func parts(reads paths.Set, before, after plan.Value, path string, found func(path string, before, after plan.Value)) {
	if differ(reads, before, after) == stays {
		return
	}
	switch {
	case before.Kind() != after.Kind():
	case after.Kind() == plan.Object:
		was, is := before.Attributes(), after.Attributes()
		names := slices.Concat(slices.Collect(maps.Keys(was)), slices.Collect(maps.Keys(is)))
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			// A part that is not there has the zero value, which is null.
			parts(reads.Attribute(name), was[name], is[name], path+"."+name, found)
		}
		return
	case after.Kind() == plan.List:
		was, is := before.Elements(), after.Elements()
		for i := range max(len(was), len(is)) {
			parts(reads.Element(i), at(was, i), at(is, i), fmt.Sprintf("%s[%d]", path, i), found)
		}
		return
	}
	found(path, before, after)
}

func at(list []plan.Value, i int) (v plan.Value) {
	if i < len(list) {
		v = list[i]
	}
	return v
}
