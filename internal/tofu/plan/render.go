// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"strings"

	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// RenderOptions configure how a plan is written.
type RenderOptions struct {
	// Color adds ANSI colours.
	Color bool
}

// Render formats a plan in the way that users of tofu know: each object's actions by attribute,
// then a summary.
func Render(p *Plan, opts RenderOptions) string {
	r := &renderer{painter: painter(opts.Color)}
	r.drift(p)
	if !p.HasChanges() {
		r.line(r.paint("No changes.", boldCode+greenCode) + " The infrastructure matches the configuration.")
		return r.String()
	}
	if len(p.Changes) > 0 {
		r.legend(p)
		for i := range p.Changes {
			r.change(&p.Changes[i], false)
		}
		r.line(r.paint(p.Counts.Sentence(), boldCode))
	}
	if p.Omitted > 0 {
		r.line("")
		r.line(fmt.Sprintf("%d more changes are not shown.", p.Omitted))
	}
	r.outputs(p)
	return r.String()
}

// renderer collects lines.
type renderer struct {
	painter
	strings.Builder
}

func (r *renderer) line(text string) { r.WriteString(text + "\n") }

func (r *renderer) drift(p *Plan) {
	if len(p.Drift) == 0 {
		return
	}
	r.line(r.paint("Note:", boldCode+cyan) + " these objects were changed outside of the stack:")
	r.line("")
	for i := range p.Drift {
		r.change(&p.Drift[i], true)
	}
}

// legend explains the signs that occur.
func (r *renderer) legend(p *Plan) {
	seen := map[string]bool{}
	var lines []string
	for _, c := range p.Changes {
		if sign, text := r.sign(&c); !seen[sign] && text != "" {
			seen[sign] = true
			lines = append(lines, sign+" "+text)
		}
	}
	if len(lines) > 0 {
		r.line("Actions in this plan:")
		for _, line := range lines {
			r.line(line)
		}
		r.line("")
	}
}

func (r *renderer) sign(c *ResourceChange) (sign, meaning string) {
	switch {
	case c.Forgets:
		return r.paint(".", redCode) + "/" + r.paint("+", greenCode), "forget, then create the replacement"
	case c.Action == Replace && c.CreateFirst:
		return r.paint("+", greenCode) + "/" + r.paint("-", redCode), "create the replacement, then destroy"
	case c.Action == NoOp:
		return "   ", ""
	}
	return r.symbol(c.Action), map[Action]string{
		Create: "create", Update: "update in place (current -> planned)", Delete: "destroy",
		Replace: "destroy, then create the replacement", Read: "read during the apply", Forget: "forget, and keep the object",
	}[c.Action]
}

func (r *renderer) change(c *ResourceChange, drifted bool) {
	r.line("  # " + r.headline(c, drifted))
	for _, note := range notes(c) {
		r.line("  # (" + note + ")")
	}
	sign, _ := r.sign(c)
	kind := "resource"
	if c.Mode == "data" {
		kind = "data"
	}
	body := &differ{painter: r.painter, replaces: c.Replaces}
	body.change(c, "      ")
	r.line(fmt.Sprintf("%s %s %s %s {", sign, kind, quote(c.Type), quote(c.Name)))
	r.WriteString(body.String())
	r.line("    }")
	r.line("")
}

// change writes the difference that a change makes.
func (d *differ) change(c *ResourceChange, indent string) {
	switch c.Action {
	case Create, Read:
		d.attributes(nil, &c.After, indent)
	case Delete:
		d.attributes(&c.Before, nil, indent)
	case Forget:
		d.unchanged(&c.Before, indent)
	default:
		d.attributes(&c.Before, &c.After, indent)
	}
}

// headline describes the change in a sentence.
func (p painter) headline(c *ResourceChange, drifted bool) string {
	address := diagnostic.Printable(c.Address)
	if c.Deposed != "" {
		address += " (deposed object " + diagnostic.Printable(c.Deposed) + ")"
	}
	what := map[Action]string{
		Create: "will be created", Update: "will be updated in place", Delete: "will be " + p.paint("destroyed", boldCode+redCode),
		Read: "will be read during the apply", Forget: "will be forgotten and not destroyed", NoOp: "is unchanged",
	}[c.Action]
	switch {
	case drifted && c.Action == Delete:
		what = "has been deleted"
	case drifted:
		what = "has changed"
	case c.Action == Replace && strings.HasSuffix(c.Reason, "tainted"):
		what = "is tainted and must be " + p.paint("replaced", boldCode+redCode)
	case c.Action == Replace && strings.HasSuffix(c.Reason, "by_request"):
		what = "will be " + p.paint("replaced", boldCode+redCode) + ", as requested"
	case c.Action == Replace:
		what = "must be " + p.paint("replaced", boldCode+redCode)
	case c.Action == NoOp && c.Previous != "":
		return p.paint(diagnostic.Printable(c.Previous), boldCode) + " has moved to " + p.paint(address, boldCode)
	case c.Action == NoOp && c.Imports:
		what = "will be imported"
	}
	return p.paint(address, boldCode) + " " + what
}

// reasons describe why tofu deletes, reads or replaces something.
var reasons = map[string]string{
	"replace_by_triggers":                        "because of replace_triggered_by",
	"delete_because_no_resource_config":          "because it is not in the configuration",
	"delete_because_no_module":                   "because its module is not in the configuration",
	"delete_because_no_move_target":              "because its move target is not in the configuration",
	"delete_because_wrong_repetition":            "because the use of count or for_each has changed",
	"delete_because_count_index":                 "because its index is out of range for count",
	"delete_because_enabled_false":               "because enabled is false",
	"delete_because_each_key":                    "because its key is not in for_each",
	"read_because_config_unknown":                "its configuration refers to values not yet known",
	"read_because_dependency_pending":            "it depends on something with changes pending",
	"read_because_check_nested":                  "to verify a check block",
	"forgot_because_lifecycle_destroy_in_config": "because of lifecycle.destroy = false",
	"forgot_because_lifecycle_destroy_in_state":  "because of lifecycle.destroy = false when it was last applied",
}

func notes(c *ResourceChange) []string {
	var notes []string
	if text := reasons[c.Reason]; text != "" {
		notes = append(notes, text)
	}
	if c.Deposed != "" {
		notes = append(notes, "left over from a replacement that failed halfway")
	}
	if c.Previous != "" && c.Action != NoOp {
		notes = append(notes, "moved from "+diagnostic.Printable(c.Previous))
	}
	switch {
	case c.Import != "":
		notes = append(notes, "imported from "+quote(c.Import))
	case c.Imports:
		notes = append(notes, "imported first")
	}
	if c.Imports && c.Action == Replace && !c.Forgets {
		notes = append(notes, "warning: this destroys the imported object")
	}
	return notes
}

func (r *renderer) outputs(p *Plan) {
	if len(p.Outputs) == 0 {
		return
	}
	if len(p.Changes) > 0 {
		r.line("")
	}
	r.line(r.paint("Changes to outputs:", boldCode))
	d := &differ{painter: r.painter}
	d.outputs(p, "  ")
	r.WriteString(d.String())
	if len(p.Changes) == 0 {
		r.line("")
		r.line("Applying this plan only stores the outputs; no real infrastructure changes.")
	}
}

// outputs writes the difference of all outputs.
func (d *differ) outputs(p *Plan, indent string) {
	before, after := map[string]Value{}, map[string]Value{}
	for _, o := range p.Outputs {
		if o.Action != Create {
			before[o.Name] = o.Before
		}
		if o.Action != Delete {
			after[o.Name] = o.After
		}
	}
	d.members(before, after, indent, nil)
}
