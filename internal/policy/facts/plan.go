// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/kit/mask"
)

// shownResource is an element of resource_changes and resource_drift.
type shownResource struct {
	Address         string          `json:"address"`
	PreviousAddress string          `json:"previous_address"`
	ModuleAddress   string          `json:"module_address"`
	Mode            string          `json:"mode"`
	Type            string          `json:"type"`
	Name            string          `json:"name"`
	Index           json.RawMessage `json:"index"`
	ProviderName    string          `json:"provider_name"`
	Deposed         string          `json:"deposed"`
	ActionReason    string          `json:"action_reason"`
	Change          shownChange     `json:"change"`
}

// shownChange is a change of a resource or an output. Its values are decoded one resource at a time.
type shownChange struct {
	Actions         []string        `json:"actions"`
	Before          json.RawMessage `json:"before"`
	After           json.RawMessage `json:"after"`
	AfterUnknown    json.RawMessage `json:"after_unknown"`
	BeforeSensitive json.RawMessage `json:"before_sensitive"`
	AfterSensitive  json.RawMessage `json:"after_sensitive"`
	Importing       *struct {
		ID       string          `json:"id"`
		Identity json.RawMessage `json:"identity"`
	} `json:"importing"`
}

// sides are the decoded values of a change.
type sides struct {
	before, after, unknown          any
	beforeSensitive, afterSensitive any
}

func (c *shownChange) decode(p *parser) (s sides, err error) {
	for _, part := range []struct {
		raw  json.RawMessage
		into *any
	}{{c.Before, &s.before}, {c.After, &s.after}, {c.AfterUnknown, &s.unknown}, {c.BeforeSensitive, &s.beforeSensitive}, {c.AfterSensitive, &s.afterSensitive}} {
		if *part.into, err = p.decode(part.raw); err != nil {
			return sides{}, err
		}
	}
	return s, nil
}

// resources decodes a list of changes, except for their values.
func resources(list json.RawMessage) ([]shownResource, error) {
	var all []shownResource
	err := elements(list, func(s *scanner) error {
		var r shownResource
		if err := r.read(s); err != nil {
			return err
		}
		if r.Address == "" || r.Mode == "" || r.Type == "" || len(r.Change.Actions) == 0 {
			return fmt.Errorf("the change of %q has no address, mode, type or action", r.Address)
		}
		all = append(all, r)
		return nil
	})
	return all, err
}

// read reads an element. Its values stay parts of the text.
func (r *shownResource) read(s *scanner) error {
	return s.object(func(name []byte) error {
		switch string(name) {
		case "address":
			return s.into(&r.Address)
		case "previous_address":
			return s.into(&r.PreviousAddress)
		case "module_address":
			return s.into(&r.ModuleAddress)
		case "mode":
			return s.into(&r.Mode)
		case "type":
			return s.into(&r.Type)
		case "name":
			return s.into(&r.Name)
		case "index":
			return s.raw(&r.Index)
		case "provider_name":
			return s.into(&r.ProviderName)
		case "deposed":
			return s.into(&r.Deposed)
		case "action_reason":
			return s.into(&r.ActionReason)
		case "change":
			return r.Change.read(s)
		}
		return s.skip()
	})
}

// read reads a change.
func (c *shownChange) read(s *scanner) error {
	return s.object(func(name []byte) error {
		switch string(name) {
		case "actions":
			return s.into(&c.Actions)
		case "before":
			return s.raw(&c.Before)
		case "after":
			return s.raw(&c.After)
		case "after_unknown":
			return s.raw(&c.AfterUnknown)
		case "before_sensitive":
			return s.raw(&c.BeforeSensitive)
		case "after_sensitive":
			return s.raw(&c.AfterSensitive)
		case "importing":
			return s.into(&c.Importing)
		}
		return s.skip()
	})
}

// action returns the meaning of the tool's list of actions. It knows complete lists: a new
// combination must not be taken for one of its parts.
func action(actions []string, mode string) string {
	switch strings.Join(actions, ",") {
	case "no-op":
		return ActionNoOp
	case "create":
		return ActionCreate
	case "read":
		return ActionRead
	case "update":
		return ActionUpdate
	case "delete":
		return ActionDelete
	case "forget":
		return ActionForget
	case "delete,create", "create,delete", "forget,create", "create,forget":
		return ActionReplace
	case "Open", "open":
		if mode == "ephemeral" {
			return ActionOpen
		}
	}
	return ActionUnknown
}

// change makes the fact of one change.
func (b *builder) change(r *shownResource) (Change, error) {
	path, err := modulePath(r.ModuleAddress)
	if err != nil {
		return Change{}, err
	}
	c := Change{
		Address: r.Address, Module: path, ModuleAddress: r.ModuleAddress, Mode: r.Mode, Type: r.Type, Name: r.Name,
		Index: slices.Clone(r.Index), Provider: r.ProviderName, Deposed: r.Deposed, ActionReason: r.ActionReason,
		Actions: r.Change.Actions, Action: action(r.Change.Actions, r.Mode),
		Destroys: slices.Contains(r.Change.Actions, "delete"), Forgets: slices.Contains(r.Change.Actions, "forget"),
		Declared: b.declares(path, r.Mode, r.Type, r.Name),
	}
	if r.PreviousAddress != "" && r.PreviousAddress != r.Address {
		c.Previous = r.PreviousAddress
	}
	if i := r.Change.Importing; i != nil {
		c.Imports, c.ImportID = true, i.ID
		if c.ImportID == "" && len(i.Identity) > 0 {
			c.ImportID = string(i.Identity)
		}
		if b.hider.hides(c.ImportID) {
			c.ImportID = "(sensitive)"
		}
	}
	s, err := r.Change.decode(&b.parser)
	if err != nil {
		return Change{}, fmt.Errorf("the values of %s: %w", r.Address, err)
	}
	if c.Action != ActionNoOp {
		c.Changed, c.ChangedOmitted = differences(s.before, s.after, s.unknown)
		if s.before != nil {
			c.Before = b.value(s.before, s.beforeSensitive, nil)
		}
	}
	if s.after != nil || marked(s.unknown) {
		c.After = b.value(s.after, s.afterSensitive, s.unknown)
	}
	if marks, ok := s.unknown.(map[string]any); ok {
		for _, name := range names(nil, marks) {
			if !b.hider.hidesName(name) {
				c.Unknown = append(c.Unknown, name)
			}
		}
	}
	for i, name := range c.Changed {
		if b.hider.hidesName(name) {
			c.Changed[i] = "$key"
		}
	}
	return c, nil
}

// value writes a value into memory of its own size.
func (b *builder) value(value, sensitive, unknown any) json.RawMessage {
	b.buffer = b.hider.append(b.buffer[:0], value, sensitive, unknown)
	return slices.Clone(b.buffer)
}

// collect adds the texts of the sensitive values of a change.
func (c *shownChange) collect(found *secrets) error {
	for _, side := range []struct{ value, marks json.RawMessage }{{c.Before, c.BeforeSensitive}, {c.After, c.AfterSensitive}} {
		if err := found.side(side.value, side.marks); err != nil {
			return err
		}
	}
	return nil
}

// secrets collects the texts of sensitive values.
type secrets struct {
	texts *mask.Secrets
	any   bool
}

// side collects those of one value. Most have no marks, and need not be decoded.
func (s *secrets) side(value, marks json.RawMessage) error {
	if !bytes.Contains(marks, []byte("true")) {
		return nil
	}
	v, err := decode(value)
	if err != nil {
		return err
	}
	m, err := decode(marks)
	if err != nil {
		return err
	}
	s.collect(v, m)
	return nil
}

func (s *secrets) collect(value, marks any) {
	if !marked(marks) {
		return
	}
	switch v := value.(type) {
	case string:
		s.add(v)
	case json.Number:
		s.add(v.String())
	case []any:
		for i, element := range v {
			s.collect(element, markAt(marks, i))
		}
	case map[string]any:
		for key, element := range v {
			s.collect(element, markOf(marks, key))
		}
	}
}

func (s *secrets) add(text string) {
	s.texts.Add(text)
	s.any = true
}
