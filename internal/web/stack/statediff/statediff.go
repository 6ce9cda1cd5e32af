// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package statediff compares two versions of a state for the page.
//
// It is pure: two states in, plain data out. A state has secrets in clear text, so values are left out
// unless they are asked for, and those that the state marks as sensitive always are.
package statediff

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/kit/mask"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

const (
	// maxRows limits the resources that are listed, maxLines the lines of one, maxText those of a line.
	maxRows, maxLines, maxText = 500, 200, 1000
)

// View is the difference of two states.
type View struct {
	From, To uint64
	// OtherLineage is true if the states have nothing to do with each other.
	OtherLineage bool
	Rows         []Row
	// Hidden counts resources that differ and are not listed, Same those that do not differ.
	Hidden, Same int
	Outputs      []Row
}

// Row is a resource or an output that differs.
type Row struct {
	Name string
	// Sign is +, - or ~; Says says what that means.
	Sign, Says string
	// Parts are the attributes that differ.
	Parts []string
	// Lines are their values, if those were asked for.
	Lines []Line
}

// Line is one line of a difference of values.
type Line struct{ Class, Sign, Text string }

// Of compares two states: what there is only in to is added.
func Of(from, to []byte, values bool) (*View, error) {
	was, err := statefile.Parse(from)
	if err != nil {
		return nil, err
	}
	is, err := statefile.Parse(to)
	if err != nil {
		return nil, err
	}
	if was.Encrypted || is.Encrypted {
		return nil, errors.New("the states are encrypted, so they cannot be compared")
	}
	v := &View{From: was.Serial, To: is.Serial, OtherLineage: was.Lineage != is.Lineage}
	c := &comparison{values: values, secrets: mask.New()}
	c.collect(was)
	c.collect(is)
	c.masker = c.secrets.Masker(plan.SensitiveMark)
	if err := v.resources(c, was, is); err != nil {
		return nil, err
	}
	return v, v.outputs(c, was, is)
}

type comparison struct {
	values  bool
	secrets *mask.Secrets
	masker  *mask.Masker
}

// collect collects the texts that a state marks as sensitive, to hide them where they are not marked.
func (c *comparison) collect(f *statefile.File) {
	for _, o := range f.Outputs {
		if o.Sensitive {
			c.take(o.Value, nil)
		}
	}
	for i := range f.Resources {
		for _, path := range f.Resources[i].SensitivePaths {
			c.take(f.Resources[i].Attributes, path)
		}
	}
}

func (c *comparison) take(raw json.RawMessage, path []string) {
	hide := func(at []string, value any) bool {
		if text, ok := value.(string); ok && len(at) >= len(path) && slices.Equal(at[:len(path)], path) {
			c.secrets.Add(text)
		}
		return false
	}
	_, _, _ = plan.ReadValues(raw, nil, hide) //nolint:errcheck // what is no JSON has no values
}

func byAddress(f *statefile.File) map[string]*statefile.Resource {
	all := make(map[string]*statefile.Resource, len(f.Resources))
	for i := range f.Resources {
		r := &f.Resources[i]
		name := r.Address
		if r.Deposed != "" {
			name += " (deposed " + r.Deposed + ")"
		}
		all[name] = r
	}
	return all
}

func (v *View) resources(c *comparison, was, is *statefile.File) error {
	had, has := byAddress(was), byAddress(is)
	for name, r := range had {
		other, stays := has[name]
		switch {
		case !stays:
			v.Rows = append(v.Rows, Row{Name: printable(name), Sign: "-", Says: "is not in the state any more" + c.identified(r)})
		case r.Tainted != other.Tainted || !bytes.Equal(r.Attributes, other.Attributes):
			row := Row{Name: printable(name), Sign: "~", Says: "differs"}
			if r.Tainted != other.Tainted {
				row.Says = "is tainted in one of them"
			}
			if err := c.compare(&row, r, other); err != nil {
				return err
			}
			v.Rows = append(v.Rows, row)
		default:
			v.Same++
		}
	}
	for name, r := range has {
		if _, known := had[name]; !known {
			v.Rows = append(v.Rows, Row{Name: printable(name), Sign: "+", Says: "is in the state" + c.identified(r)})
		}
	}
	slices.SortFunc(v.Rows, func(a, b Row) int { return strings.Compare(a.Name, b.Name) })
	v.Hidden = max(0, len(v.Rows)-maxRows)
	v.Rows = v.Rows[:min(len(v.Rows), maxRows)]
	return nil
}

// identified is the id of a resource, unless it is a secret: some resources have one for their id.
func (c *comparison) identified(r *statefile.Resource) string {
	if r.ID == "" || c.hides(r.ID) {
		return ""
	}
	for _, path := range r.SensitivePaths {
		if len(path) == 0 || len(path) == 1 && path[0] == "id" {
			return ""
		}
	}
	return " (" + printable(r.ID) + ")"
}

// compare names the attributes that differ, and with their values if they were asked for.
func (c *comparison) compare(row *Row, was, is *statefile.Resource) error {
	before, after, err := plan.ReadValues(was.Attributes, is.Attributes, func(path []string, value any) bool {
		return marked(was.SensitivePaths, path) || marked(is.SensitivePaths, path) || c.hides(value)
	})
	if err != nil {
		return err
	}
	row.Parts = differing(before, after)
	if c.values {
		row.Lines = lines(plan.Compare(before, after, false))
	}
	return nil
}

func (c *comparison) hides(value any) bool {
	text, ok := value.(string)
	return ok && c.masker.Hides(text)
}

func marked(paths [][]string, path []string) bool {
	return slices.ContainsFunc(paths, func(p []string) bool { return slices.Equal(p, path) })
}

// differing names the attributes of two objects that differ.
func differing(before, after *plan.Value) []string {
	var names []string
	if before == nil || after == nil {
		return nil
	}
	a, b := before.Attributes(), after.Attributes()
	for name, was := range a {
		if is, ok := b[name]; !ok || !was.Equal(is) {
			names = append(names, printable(name))
		}
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			names = append(names, printable(name))
		}
	}
	slices.Sort(names)
	return names
}

func (v *View) outputs(c *comparison, was, is *statefile.File) error {
	for name, o := range was.Outputs {
		other, stays := is.Outputs[name]
		switch {
		case !stays:
			v.Outputs = append(v.Outputs, Row{Name: printable(name), Sign: "-", Says: "is gone"})
		case !bytes.Equal(o.Value, other.Value) || o.Sensitive != other.Sensitive:
			row := Row{Name: printable(name), Sign: "~", Says: "differs"}
			if c.values {
				sensitive := o.Sensitive || other.Sensitive
				before, after, err := plan.ReadValues(wrapped(o.Value), wrapped(other.Value), func(path []string, value any) bool {
					return sensitive && len(path) == 1 || c.hides(value)
				})
				if err != nil {
					return err
				}
				row.Lines = lines(plan.Compare(before, after, false))
			}
			v.Outputs = append(v.Outputs, row)
		}
	}
	for name := range is.Outputs {
		if _, known := was.Outputs[name]; !known {
			v.Outputs = append(v.Outputs, Row{Name: printable(name), Sign: "+", Says: "is new"})
		}
	}
	slices.SortFunc(v.Outputs, func(a, b Row) int { return cmp.Compare(a.Name, b.Name) })
	return nil
}

// wrapped makes an object of a value, which differences are written of.
func wrapped(value json.RawMessage) json.RawMessage {
	return slices.Concat([]byte(`{"value":`), value, []byte(`}`))
}

var classes = map[plan.Sign]string{plan.Added: "add", plan.Removed: "del", plan.Changed: "change"}

func lines(all []plan.Line) []Line {
	var out []Line
	for _, l := range all[:min(len(all), maxLines)] {
		out = append(out, Line{classes[l.Sign], string(l.Sign), strings.Repeat(" ", min(l.Indent, 120)) + shorten.CutBytes(l.Text, maxText)})
	}
	if len(all) > maxLines {
		out = append(out, Line{Text: "…"})
	}
	return out
}

func printable(text string) string { return shorten.Cut(diagnostic.Printable(text), maxText) }
