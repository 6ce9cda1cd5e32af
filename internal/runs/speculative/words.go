// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package speculative

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// callName matches a module in an address, instanceKey the key of an instance.
var (
	callName    = regexp.MustCompile(`module\.[0-9A-Za-z_-]+(\["(?:[^"\\]|\\.)*"\]|\[[0-9]+\])?\.`)
	instanceKey = regexp.MustCompile(`(\["(?:[^"\\]|\\.)*"\]|\[[0-9]+\])$`)
)

var actionMarks = map[plan.Action]string{plan.Create: "+", plan.Update: "~", plan.Delete: "-", plan.Replace: "-/+", plan.Forget: "forget ", plan.Read: "read "}

// Words lists what a plan changes so that the same change in two stacks is the same line: without the
// position of the module, keys and values, and counted. An update names the attributes.
func Words(p *plan.Plan) []string {
	counts := map[string]int{}
	for i := range p.Changes {
		c := &p.Changes[i]
		mark := cmp.Or(actionMarks[c.Action], string(c.Action))
		name := instanceKey.ReplaceAllString(callName.ReplaceAllString(c.Address, ""), "")
		what := mark + "%d " + strings.ReplaceAll(name, "%", "%%")
		if c.Previous != "" {
			what = "moved %d " + strings.ReplaceAll(name, "%", "%%")
		}
		counts[what+strings.ReplaceAll(altered(c), "%", "%%")]++
	}
	var words []string
	for what, n := range counts {
		words = append(words, fmt.Sprintf(what, n))
	}
	slices.Sort(words)
	for _, o := range p.Outputs {
		words = append(words, fmt.Sprintf("%s output %s", cmp.Or(actionMarks[o.Action], string(o.Action)), o.Name))
	}
	if p.Omitted > 0 {
		words = append(words, fmt.Sprintf("and %d more", p.Omitted))
	}
	return words
}

// maxAltered limits the attributes of one change in words.
const maxAltered = 5

// altered names the attributes that an update or a replacement changes. Those that only become
// unknown follow from others.
func altered(c *plan.ResourceChange) string {
	if c.Action != plan.Update && c.Action != plan.Replace {
		return ""
	}
	before, after := c.Before.Attributes(), c.After.Attributes()
	var names []string
	for name, value := range after {
		if value.Kind() != plan.Unknown && !value.Equal(before[name]) {
			names = append(names, name)
		}
	}
	for name := range before {
		if _, stays := after[name]; !stays {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	if more := len(names) - maxAltered; more > 0 {
		names = append(names[:maxAltered], fmt.Sprintf("%d more", more))
	}
	return " (" + strings.Join(names, ", ") + ")"
}
