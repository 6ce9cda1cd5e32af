// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package conform

import (
	"fmt"

	"github.com/yuba-dev/yuba/internal/contracts/paths"
)

// Outcome says how an output relates to its contract.
type Outcome string

// The outcomes.
const (
	Fits    Outcome = "fits"
	Breaks  Outcome = "breaks"
	Unknown Outcome = "unknown"
)

// Why is the kind of a finding.
type Why string

// The kinds of findings; the package's comment describes them.
const (
	Missing    Why = "missing"
	Null       Why = "null"
	OtherType  Why = "type"
	Length     Why = "length"
	Gone       Why = "gone"
	Exposed    Why = "exposed"
	NotYet     Why = "unknown"
	Validation Why = "validation"
)

// Finding is a part of a value that does not fit, or is unknown.
type Finding struct {
	Path paths.Path
	Why  Why
	// Wanted names the type of the contract, Got that of the value, or what a validation says.
	Wanted, Got string
	// Count is how many elements of collections have it; Path leads to the first one.
	Count int
}

// In says what was found, with the path behind a root: base.subnets[1].id is missing (string).
func (f Finding) In(root string) string {
	return f.Path.In(root) + " " + f.Says() + f.also()
}

// Says says what was found, without the path.
func (f Finding) Says() string {
	switch f.Why {
	case Missing:
		return fmt.Sprintf("is missing (%s)", f.Wanted)
	case Null:
		return fmt.Sprintf("is null (%s is required)", f.Wanted)
	case Gone:
		return "is not an output any more"
	case Exposed:
		return "is sensitive, and the contract names no private path"
	case NotYet:
		return "is unknown until the apply"
	case Length:
		return fmt.Sprintf("has %s elements, not %s", f.Got, f.Wanted)
	case Validation:
		return "is not valid: " + f.Got
	}
	return fmt.Sprintf("is %s, not %s", f.Got, f.Wanted)
}

func (f Finding) also() string {
	if f.Count > 1 {
		return fmt.Sprintf(", as are %d others like it", f.Count-1)
	}
	return ""
}

// findings collects findings, each kind of place once.
type findings struct {
	list []Finding
	seen map[string]int
}

func (f *findings) add(found Finding) {
	general := make(paths.Path, 0, len(found.Path))
	for _, step := range found.Path {
		if _, index := step.Index(); index {
			general = general.Each()
		} else {
			general = append(general, step)
		}
	}
	key := fmt.Sprint(general, found.Why, found.Wanted, found.Got)
	if i, ok := f.seen[key]; ok {
		f.list[i].Count++
		return
	}
	if f.seen == nil {
		f.seen = map[string]int{}
	}
	found.Count = 1
	f.seen[key] = len(f.list)
	f.list = append(f.list, found)
}
