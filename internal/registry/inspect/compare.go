// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// Compare returns the differences between two versions of a module, breaking ones first.
func Compare(before, after *Module) []Change {
	c := &comparison{}
	c.both("", before.Interface, after.Interface)
	c.submodules(before.Submodules, after.Submodules)
	slices.SortStableFunc(c.changes, func(a, b Change) int {
		return cmp.Or(-compareBools(a.Breaking, b.Breaking), strings.Compare(a.Path, b.Path))
	})
	return c.changes
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// comparison collects changes of one directory after another.
type comparison struct {
	path    string
	changes []Change
}

func (c *comparison) add(kind ChangeKind, breaking bool, name string, pos *module.Position, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	if c.path != "" {
		message = "submodule " + c.path + ": " + message
	}
	c.changes = append(c.changes, Change{Kind: kind, Breaking: breaking, Path: c.path, Name: name, Message: message, Pos: pos})
}

func (c *comparison) submodules(before, after []Part) {
	for _, old := range before {
		c.path = ""
		i := slices.IndexFunc(after, func(p Part) bool { return p.Path == old.Path })
		if i < 0 {
			c.add(SubmoduleRemoved, true, old.Path, nil, "the submodule %s was removed", old.Path)
			continue
		}
		c.both(old.Path, old.Interface, after[i].Interface)
	}
	c.path = ""
	for _, part := range after {
		if !slices.ContainsFunc(before, func(p Part) bool { return p.Path == part.Path }) {
			c.add(SubmoduleAdded, false, part.Path, nil, "the submodule %s was added", part.Path)
		}
	}
}

func (c *comparison) both(path string, before, after Interface) {
	c.path = path
	c.inputs(before.Inputs, after.Inputs)
	c.outputs(before.Outputs, after.Outputs)
	c.providers(before.Providers, after.Providers)
	if !slices.Equal(before.Tool, after.Tool) {
		narrower := narrows(before.Tool, after.Tool)
		c.add(ToolChanged, narrower, "", nil, "the versions of tofu %s%s", fromTo(text(before.Tool), text(after.Tool)), accepts(narrower))
	}
}

func accepts(narrower bool) string {
	if narrower {
		return ", which excludes versions that worked before"
	}
	return ""
}

// text formats a list of constraints.
func text(constraints []string) string {
	if len(constraints) == 0 {
		return "any"
	}
	return strings.Join(constraints, ", ")
}

func fromTo(before, after string) string { return fmt.Sprintf("changed from %q to %q", before, after) }

func (c *comparison) inputs(before, after []Input) {
	var added []Input
	for _, in := range after {
		if find(before, in.Name) == nil {
			added = append(added, in)
		}
	}
	removed := 0
	for _, old := range before {
		if find(after, old.Name) == nil {
			removed++
		}
	}
	for _, old := range before {
		in := find(after, old.Name)
		if in != nil {
			c.input(old, *in)
			continue
		}
		if renamed := renamedTo(old, added, removed == 1 && len(added) == 1); renamed != "" {
			c.add(InputRenamed, true, old.Name, &old.Pos, "the input %q was removed; it seems to be %q now", old.Name, renamed)
			continue
		}
		c.add(InputRemoved, true, old.Name, &old.Pos, "the input %q was removed", old.Name)
	}
	for _, in := range added {
		if in.Optional {
			c.add(InputAdded, false, in.Name, &in.Pos, "the optional input %q was added", in.Name)
			continue
		}
		c.add(InputRequired, true, in.Name, &in.Pos, "the input %q is new and has no default", in.Name)
	}
}

func find(list []Input, name string) *Input {
	if i := slices.IndexFunc(list, func(in Input) bool { return in.Name == name }); i >= 0 {
		return &list[i]
	}
	return nil
}

// renamedTo returns the only added input with the same type and description. A type alone is only
// enough if one input came and one went.
func renamedTo(old Input, added []Input, single bool) string {
	found := ""
	for _, in := range added {
		if (old.Description != "" || single && old.Type != "") && in.Description == old.Description && bytes.Equal(in.Cty, old.Cty) {
			if found != "" {
				return ""
			}
			found = in.Name
		}
	}
	return found
}

// input compares an input that exists in both versions.
func (c *comparison) input(before, after Input) {
	if old, now := typeOf(before), typeOf(after); !old.Equals(now) {
		problems := narrowed(old, now, after.Name)
		if len(problems) > 0 {
			c.add(InputRetyped, true, after.Name, &after.Pos, "the type of the input %q does not accept what it did: %s", after.Name, strings.Join(problems, "; "))
		} else {
			c.add(InputRetyped, false, after.Name, &after.Pos, "the type of the input %q is wider", after.Name)
		}
	}
	if before.Optional && !after.Optional {
		c.add(InputRequired, true, after.Name, &after.Pos, "the input %q has no default any more", after.Name)
	}
	if before.Nullable && !after.Nullable {
		c.add(InputChanged, !after.Optional, after.Name, &after.Pos, "the input %q does not accept null any more%s", after.Name, nullMeans(after.Optional))
	}
	if before.Ephemeral && !after.Ephemeral {
		c.add(InputChanged, true, after.Name, &after.Pos, "the input %q does not accept ephemeral values any more", after.Name)
	}
	c.insideInput(before, after)
}

func nullMeans(optional bool) string {
	if optional {
		return "; null means the default now"
	}
	return ""
}

// insideInput adds what callers can write as before, and may want to know.
func (c *comparison) insideInput(before, after Input) {
	if !before.Optional && after.Optional {
		c.add(InputChanged, false, after.Name, &after.Pos, "the input %q has a default now", after.Name)
	}
	if before.Optional && after.Optional && !bytes.Equal(before.Default, after.Default) {
		c.add(InputChanged, false, after.Name, &after.Pos, "the default of the input %q changed", after.Name)
	}
	if !before.Nullable && after.Nullable {
		c.add(InputChanged, false, after.Name, &after.Pos, "the input %q accepts null now", after.Name)
	}
	if !before.Ephemeral && after.Ephemeral {
		c.add(InputChanged, false, after.Name, &after.Pos, "the input %q accepts ephemeral values now", after.Name)
	}
	if before.Sensitive != after.Sensitive {
		c.add(InputChanged, false, after.Name, &after.Pos, "the input %q is %s now", after.Name, sensitive(after.Sensitive))
	}
}

func sensitive(is bool) string {
	if is {
		return "sensitive"
	}
	return "not sensitive"
}

// typeOf returns an input's type; any type if it cannot be read.
func typeOf(in Input) cty.Type {
	ty, err := ctyjson.UnmarshalType(in.Cty)
	if err != nil {
		return cty.DynamicPseudoType
	}
	return ty
}

func (c *comparison) outputs(before, after []Output) {
	get := func(list []Output, name string) *Output {
		if i := slices.IndexFunc(list, func(o Output) bool { return o.Name == name }); i >= 0 {
			return &list[i]
		}
		return nil
	}
	for _, old := range before {
		now := get(after, old.Name)
		if now == nil {
			c.add(OutputRemoved, true, old.Name, &old.Pos, "the output %q was removed", old.Name)
			continue
		}
		if old.Sensitive != now.Sensitive {
			// An output of a root module that refers to a sensitive one is an error unless it is
			// sensitive itself.
			c.add(OutputChanged, now.Sensitive, now.Name, &now.Pos, "the output %q is %s now", now.Name, sensitive(now.Sensitive))
		}
		if old.Ephemeral != now.Ephemeral {
			is := "not ephemeral"
			if now.Ephemeral {
				is = "ephemeral"
			}
			c.add(OutputChanged, now.Ephemeral, now.Name, &now.Pos, "the output %q is %s now", now.Name, is)
		}
	}
	for _, now := range after {
		if get(before, now.Name) == nil {
			c.add(OutputAdded, false, now.Name, &now.Pos, "the output %q was added", now.Name)
		}
	}
}

func (c *comparison) providers(before, after []Provider) {
	get := func(list []Provider, source string) *Provider {
		if i := slices.IndexFunc(list, func(p Provider) bool { return p.Source == source }); i >= 0 {
			return &list[i]
		}
		return nil
	}
	for _, now := range after {
		old := get(before, now.Source)
		if old == nil {
			c.add(ProviderAdded, true, now.Source, nil, "the provider %s is required now", now.Source)
			continue
		}
		c.provider(*old, now)
	}
	for _, old := range before {
		if get(after, old.Source) == nil {
			c.add(ProviderRemoved, len(old.Aliases) > 0, old.Source, nil, "the provider %s is not required any more", old.Source)
		}
	}
}

func (c *comparison) provider(before, after Provider) {
	if !slices.Equal(before.Versions, after.Versions) {
		narrower := narrows(before.Versions, after.Versions)
		c.add(ProviderChanged, narrower, after.Source, nil, "the versions of the provider %s %s%s", after.Source, fromTo(text(before.Versions), text(after.Versions)), accepts(narrower))
	}
	if before.Name != after.Name && (before.Name != "" && after.Name != "") {
		c.add(ProviderChanged, true, after.Source, nil, "callers pass the provider %s as %q instead of %q", after.Source, after.Name, before.Name)
	}
	for _, alias := range after.Aliases {
		if !slices.Contains(before.Aliases, alias) {
			c.add(ProviderChanged, true, after.Source, nil, "callers must pass the provider configuration %s", alias)
		}
	}
	for _, alias := range before.Aliases {
		if !slices.Contains(after.Aliases, alias) {
			c.add(ProviderChanged, true, after.Source, nil, "callers must not pass the provider configuration %s any more", alias)
		}
	}
}
