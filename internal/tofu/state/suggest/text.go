// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package suggest

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

func quote(text string) string {
	return string(hclwrite.TokensForValue(cty.StringVal(text)).Bytes())
}

// File is the file for "yuba refactor". By module, a whole module moves as one.
func (s *Suggestion) File(byModule bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s: %d instances stay.\n", s.Stack, s.Stay)
	for _, line := range s.Notes() {
		fmt.Fprintf(&b, "# %s\n", line)
	}
	for i := range s.Parts {
		p := &s.Parts[i]
		fmt.Fprintf(&b, "\n# %d instances.\nmove {\n  stack    = %s\n  to_stack = %s\n", p.Instances, quote(s.Stack), quote(p.Name))
		if byModule {
			fmt.Fprintf(&b, "  from     = module.%s\n}\n", p.Name)
			continue
		}
		b.WriteString("  from = [\n")
		for _, a := range p.Addresses {
			fmt.Fprintf(&b, "    %s,\n", quote(a))
		}
		b.WriteString("  ]\n}\n")
	}
	return b.String()
}

// Notes say what the split needs: the values that go between the stacks, and cycles.
func (s *Suggestion) Notes() (lines []string) {
	name := func(part string) string { return cmp.Or(part, s.Stack) }
	for _, e := range s.Edges {
		lines = append(lines, fmt.Sprintf("%s reads %s of %s: publish what it needs as outputs or a contract of %s, and read them as inputs of %s.",
			name(e.From), strings.Join(e.Needs, ", "), name(e.To), name(e.To), name(e.From)))
	}
	if len(s.Cycle) > 0 {
		var names []string
		for _, c := range append(s.Cycle, s.Cycle[0]) {
			names = append(names, name(c))
		}
		lines = append(lines, "These need each other, so they cannot be planned one after the other. Keep them in one stack: "+strings.Join(names, " -> ")+".")
	}
	return lines
}

// Blocks are for teams that split with tofu alone: removed blocks for the old program, and import blocks
// for the new ones.
func (s *Suggestion) Blocks() string {
	var b strings.Builder
	for i := range s.Parts {
		p := &s.Parts[i]
		fmt.Fprintf(&b, "# In the program of %s, in place of what moves to %s:\n", s.Stack, p.Name)
		seen := map[string]bool{}
		for _, r := range p.members {
			address := withoutKeys(r.Address)
			if r.Mode != "managed" || seen[address] {
				continue
			}
			seen[address] = true
			fmt.Fprintf(&b, "removed {\n  from = %s\n  lifecycle {\n    destroy = false\n  }\n}\n", address)
		}
		fmt.Fprintf(&b, "\n# In the program of %s:\n", p.Name)
		for _, r := range p.members {
			if r.Mode != "managed" {
				continue
			}
			if r.ID == "" {
				fmt.Fprintf(&b, "# %s has no id: see its provider's documentation of imports.\n", r.Address)
				continue
			}
			fmt.Fprintf(&b, "import {\n  to = %s\n  id = %s\n}\n", r.Address, quote(r.ID))
		}
		b.WriteString("\n")
	}
	return b.String()
}
