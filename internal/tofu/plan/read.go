// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Plan is a saved plan without sensitive values. Everyone who may read the stack may read it.
type Plan struct {
	// Version is the version of this document's format.
	Version int `json:"version"`
	// Tool is the version of the tofu that made the plan.
	Tool   string `json:"tool,omitempty"`
	Counts Counts `json:"counts"`
	// ChangesDigest is equal for plans with the same effect.
	ChangesDigest string           `json:"changesDigest"`
	Changes       []ResourceChange `json:"changes,omitempty"`
	// Drift lists changes outside of the stack since the last apply.
	Drift   []ResourceChange    `json:"drift,omitempty"`
	Outputs []OutputValueChange `json:"outputs,omitempty"`
	// Omitted counts changes and drift beyond the limit.
	Omitted int `json:"omitted,omitempty"`
	// Standing is set in the server's responses; nil in the stored document.
	Standing *Standing `json:"standing,omitempty"`
}

// ResourceChange is the change of one object.
type ResourceChange struct {
	Address  string `json:"address"`
	Previous string `json:"previous,omitempty"`
	Deposed  string `json:"deposed,omitempty"`
	// Mode is managed or data.
	Mode   string `json:"mode"`
	Type   string `json:"type"`
	Name   string `json:"name"`
	Action Action `json:"action"`
	// CreateFirst is true for a replacement that creates before it destroys.
	CreateFirst bool `json:"createFirst,omitempty"`
	// Forgets is true for a replacement whose old object is forgotten.
	Forgets bool   `json:"forgets,omitempty"`
	Reason  string `json:"reason,omitempty"`
	// Import is the id of the object to import. Imports is also true without an id.
	Import  string `json:"import,omitempty"`
	Imports bool   `json:"imports,omitempty"`
	Before  Value  `json:"before"`
	After   Value  `json:"after"`
	// Replaces are the paths that force the replacement.
	Replaces [][]any `json:"replaces,omitempty"`
}

// OutputValueChange is the change of one output.
type OutputValueChange struct {
	Name   string `json:"name"`
	Action Action `json:"action"`
	Before Value  `json:"before"`
	After  Value  `json:"after"`
}

const documentVersion = 1

// maxShown limits the changes in the document, with all their values. Pages show them in parts.
const maxShown = 10_000

// HasChanges reports whether applying the plan has an effect.
func (p *Plan) HasChanges() bool { return len(p.Changes)+len(p.Outputs) > 0 || p.Omitted > 0 }

// Described is the stored description of a saved plan.
type Described struct {
	// Document is the readable plan, a [Plan] in JSON.
	Document []byte
	// ChangesDigest is equal for plans with the same effect.
	ChangesDigest string
	// Fates are the objects that the plan creates or destroys, with unmasked addresses. FatesTotal
	// includes those beyond the limit.
	Fates      []Fate
	FatesTotal int
}

// Describe parses the output of `tofu show -json` for a saved plan.
func Describe(show []byte) (*Described, error) {
	s, err := readShown(show)
	if err != nil {
		return nil, err
	}
	p := s.plan()
	d := &Described{ChangesDigest: p.ChangesDigest}
	d.Fates, d.FatesTotal = s.fates()
	if d.Document, err = json.Marshal(p); err != nil {
		return nil, fmt.Errorf("write the readable plan: %w", err)
	}
	return d, nil
}

// Nothing returns the document of a plan without changes, which the tool was not asked to describe.
func Nothing(tool string) ([]byte, error) {
	document, err := json.Marshal(&Plan{Version: documentVersion, Tool: tool, ChangesDigest: (&shown{}).digest()})
	if err != nil {
		return nil, fmt.Errorf("write the readable plan: %w", err)
	}
	return document, nil
}

// Decode parses a document that Describe made.
func Decode(document []byte) (*Plan, error) {
	var p Plan
	if err := json.Unmarshal(document, &p); err != nil {
		return nil, fmt.Errorf("read the readable plan: %w", err)
	}
	if p.Version != documentVersion {
		return nil, fmt.Errorf("read the readable plan: its version is %d, this Yuba reads %d", p.Version, documentVersion)
	}
	return &p, nil
}

// shown is the used part of `tofu show -json`.
type shown struct {
	FormatVersion    string                         `json:"format_version"`
	TerraformVersion string                         `json:"terraform_version"`
	ResourceChanges  []shownResource                `json:"resource_changes"`
	ResourceDrift    []shownResource                `json:"resource_drift"`
	OutputChanges    map[string]shownChange         `json:"output_changes"`
	Variables        map[string]struct{ Value any } `json:"variables"`
	Configuration    struct {
		RootModule struct {
			Variables map[string]struct {
				Sensitive bool `json:"sensitive"`
			} `json:"variables"`
		} `json:"root_module"`
	} `json:"configuration"`
}

type shownResource struct {
	Address         string      `json:"address"`
	PreviousAddress string      `json:"previous_address"`
	Deposed         string      `json:"deposed"`
	Mode            string      `json:"mode"`
	Type            string      `json:"type"`
	Name            string      `json:"name"`
	ActionReason    string      `json:"action_reason"`
	Change          shownChange `json:"change"`
}

type shownChange struct {
	Actions         []string `json:"actions"`
	Before          any      `json:"before"`
	After           any      `json:"after"`
	AfterUnknown    any      `json:"after_unknown"`
	BeforeSensitive any      `json:"before_sensitive"`
	AfterSensitive  any      `json:"after_sensitive"`
	ReplacePaths    [][]any  `json:"replace_paths"`
	Importing       *struct {
		ID       string `json:"id"`
		Identity any    `json:"identity"`
	} `json:"importing"`
	GeneratedConfig string `json:"generated_config"`
}

func readShown(show []byte) (*shown, error) {
	decoder := json.NewDecoder(bytes.NewReader(show))
	decoder.UseNumber()
	var s shown
	if err := decoder.Decode(&s); err != nil {
		return nil, errors.New("read the plan: the tool's description of it is not valid JSON")
	}
	if major, _, _ := strings.Cut(s.FormatVersion, "."); major != "1" {
		return nil, fmt.Errorf("read the plan: its format is %q, this Yuba reads 1.x", s.FormatVersion)
	}
	return &s, nil
}

func (s *shown) plan() *Plan {
	p := &Plan{Version: documentVersion, Tool: s.TerraformVersion, ChangesDigest: s.digest()}
	r := s.redactor()
	for i := range s.ResourceDrift {
		c := &s.ResourceDrift[i]
		if action, _ := c.Change.action(); action != NoOp {
			p.Drift = p.keep(p.Drift, c, r)
		}
	}
	for i := range s.ResourceChanges {
		if c := &s.ResourceChanges[i]; c.matters() {
			p.Changes = p.keep(p.Changes, c, r)
			p.Counts.add(c)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.OutputChanges)) {
		change := s.OutputChanges[name]
		if action, _ := change.action(); action != NoOp {
			before, after := r.values(&change)
			p.Outputs = append(p.Outputs, OutputValueChange{Name: name, Action: action, Before: before, After: after})
		}
	}
	return p
}

func (p *Plan) keep(list []ResourceChange, c *shownResource, r *redactor) []ResourceChange {
	if len(list) >= maxShown {
		p.Omitted++
		return list
	}
	action, createFirst := c.Change.action()
	change := ResourceChange{
		Address: c.Address, Deposed: c.Deposed, Mode: c.Mode, Type: c.Type, Name: c.Name,
		Action: action, CreateFirst: createFirst, Forgets: action == Replace && c.Change.has("forget"),
		Reason: c.ActionReason, Replaces: c.Change.ReplacePaths,
	}
	if c.moved() {
		change.Previous = c.PreviousAddress
	}
	if i := c.Change.Importing; i != nil {
		change.Import, change.Imports = i.ID, true
		if r.hides(i.ID) {
			change.Import = SensitiveMark
		}
	}
	change.Before, change.After = r.values(&c.Change)
	return append(list, change)
}

// matters excludes what tofu does not show either.
func (c *shownResource) matters() bool {
	action, _ := c.Change.action()
	switch {
	case c.Mode != "managed" && action == Delete, c.Mode == "ephemeral":
		return false
	case action == NoOp:
		return c.moved() || c.Change.Importing != nil
	}
	return true
}

func (c *shownResource) moved() bool {
	return c.PreviousAddress != "" && c.PreviousAddress != c.Address
}

func (c *shownChange) has(action string) bool { return slices.Contains(c.Actions, action) }

// action converts tofu's list of actions to one.
func (c *shownChange) action() (action Action, createFirst bool) {
	switch {
	case len(c.Actions) == 2:
		return Replace, c.Actions[0] == "create" && !c.has("forget")
	case c.has("create"):
		return Create, false
	case c.has("read"):
		return Read, false
	case c.has("update"):
		return Update, false
	case c.has("delete"):
		return Delete, false
	case c.has("forget"):
		return Forget, false
	}
	return NoOp, false
}

// add counts a change as tofu's own summary does.
func (c *Counts) add(r *shownResource) {
	if r.Change.Importing != nil {
		c.Import++
	}
	action, _ := r.Change.action()
	switch {
	case action != Replace:
		c.count(action)
	case r.Change.has("forget"):
		c.count(Create)
		c.count(Forget)
	default:
		c.count(Create)
		c.count(Delete)
	}
}
