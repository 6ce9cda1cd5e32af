// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/yuba-dev/yuba/internal/kit/mask"
	"github.com/yuba-dev/yuba/internal/registry/providers"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// Inputs are what the facts are computed from.
type Inputs struct {
	Stage Stage
	// Show is the output of `tofu show -json` for the saved plan; in the stage PrePlan that of
	// `tofu show -json -config` or `-module=DIR`, unless there is Declared. It is only read.
	Show []byte
	// Declared is what the configuration declares, for the stage PrePlan.
	Declared *module.Tree
	// LockFile is the dependency lock file; nil for none.
	LockFile []byte
	// ModuleList is .terraform/modules/modules.json; nil for none. ModuleDigests are the digests of
	// the packages by the calls' keys.
	ModuleList    []byte
	ModuleDigests map[string]string
	// ModulesBrought has the calls whose packages the stack's source brought itself.
	ModulesBrought map[string]bool
	// Hidden knows secrets that the plan may not mark; nil for none.
	Hidden *mask.Masker

	// The rest is taken over. Build computes Digests.LockFile if it is empty.
	Stack     Stack
	Run       Run
	Digests   Digests
	Contracts []Contract
	// Revisions are the pinned revisions of contracts, by variable. They are not in the document;
	// decisions are bound to them.
	Revisions map[string]string
}

// declaration identifies a resource of the configuration.
type declaration struct{ module, mode, kind, name string }

// builder makes one document.
type builder struct {
	document   *Document
	hider      hider
	declared   map[declaration]bool
	sensitive  map[string]bool
	providerOf map[string]string
	buffer     []byte
	parser     parser
}

// declares reports whether the configuration has a resource.
func (b *builder) declares(module, mode, kind, name string) bool {
	return b.declared[declaration{module, mode, kind, name}]
}

// Build computes the document. Its errors mean that nothing is known: a caller must not decide
// without the document.
func Build(in Inputs) (*Document, error) {
	b := &builder{declared: map[declaration]bool{}, sensitive: map[string]bool{}, providerOf: map[string]string{}}
	b.document = &Document{APIVersion: APIVersion, Kind: Kind, Stage: in.Stage, Stack: in.Stack, Run: in.Run, Digests: in.Digests,
		Contracts: slices.Clone(in.Contracts), Changes: []Change{}, Show: in.Show, derived: &sync.Map{}}
	b.hider.given = in.Hidden
	what := "the plan"
	if in.Stage == StagePrePlan {
		what = "the configuration"
	}
	if err := b.build(&in); err != nil {
		return nil, fmt.Errorf("compute the facts of %s: %w", what, err)
	}
	return b.document, nil
}

func (b *builder) build(in *Inputs) error {
	if err := b.lockFile(in.LockFile); err != nil {
		return err
	}
	if in.Stage == StagePrePlan && in.Declared != nil {
		return b.declare(in)
	}
	show, err := fields(in.Show)
	if err != nil {
		return fmt.Errorf("the tool's description: %w", err)
	}
	switch in.Stage {
	case StagePrePlan:
		// With -config it is a document with a configuration; with -module it is the module itself.
		raw := show["configuration"]
		if module, single := show["root_module"]; raw == nil && single {
			raw = json.RawMessage(`{"root_module":` + string(module) + `,"provider_config":` + string(orNull(show["provider_config"])) + `}`)
		}
		if raw == nil {
			return errors.New("the tool's description has no configuration")
		}
		return b.readConfiguration(raw, in)
	case StagePlan, StageDrift:
		return b.plan(show, in)
	}
	return fmt.Errorf("the stage %q is unknown. This is a bug in Yuba", in.Stage)
}

func orNull(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return json.RawMessage("null")
	}
	return raw
}

// plan describes a plan.
func (b *builder) plan(show map[string]json.RawMessage, in *Inputs) error {
	p := &Plan{Partial: len(in.Run.Targets)+len(in.Run.Excludes) > 0}
	for name, into := range map[string]any{"format_version": &p.FormatVersion, "terraform_version": &p.Tool, "errored": &p.Errored} {
		if raw := show[name]; raw != nil && json.Unmarshal(raw, into) != nil {
			return fmt.Errorf("the field %q of the tool's description has another type", name)
		}
	}
	if major, _, _ := strings.Cut(p.FormatVersion, "."); major != "1" {
		return fmt.Errorf("the format of the tool's description is %q; this Yuba reads 1.x", p.FormatVersion)
	}
	b.document.Plan = p
	var err error
	if p.Resources, err = countState(show["prior_state"]); err != nil {
		return fmt.Errorf("the state before the plan: %w", err)
	}
	if p.Checks, err = readChecks(show["checks"]); err != nil {
		return fmt.Errorf("the checks of the plan: %w", err)
	}
	if err := b.readConfiguration(show["configuration"], in); err != nil {
		return err
	}
	changes, err := resources(show["resource_changes"])
	if err != nil {
		return err
	}
	drift, err := resources(show["resource_drift"])
	if err != nil {
		return err
	}
	outputs, variables := map[string]shownChange{}, map[string]struct{ Value json.RawMessage }{}
	if raw := show["output_changes"]; raw != nil && json.Unmarshal(raw, &outputs) != nil {
		return fmt.Errorf("the changes of outputs: %w", errBroken)
	}
	if raw := show["variables"]; raw != nil && json.Unmarshal(raw, &variables) != nil {
		return fmt.Errorf("the variables: %w", errBroken)
	}
	if err := b.findSecrets(changes, drift, outputs, variables); err != nil {
		return err
	}
	if err := b.changes(changes, drift); err != nil {
		return err
	}
	return b.values(outputs, variables)
}

// findSecrets collects the sensitive values of the whole plan, before any value is written.
func (b *builder) findSecrets(changes, drift []shownResource, outputs map[string]shownChange, variables map[string]struct{ Value json.RawMessage }) error {
	found := &secrets{texts: mask.New()}
	for _, list := range [][]shownResource{changes, drift} {
		for i := range list {
			if err := list[i].Change.collect(found); err != nil {
				return fmt.Errorf("the values of %s: %w", list[i].Address, err)
			}
		}
	}
	for name, c := range outputs {
		if err := c.collect(found); err != nil {
			return fmt.Errorf("the output %s: %w", name, err)
		}
	}
	for name, v := range variables {
		if !b.sensitive[name] {
			continue
		}
		value, err := decode(v.Value)
		if err != nil {
			return fmt.Errorf("the variable %s: %w", name, err)
		}
		found.collect(value, true)
	}
	if found.any {
		b.hider.own = found.texts.Masker("(sensitive)")
	}
	return nil
}

// changes describes the changes of resources, and counts them.
func (b *builder) changes(changes, drift []shownResource) error {
	d := b.document
	d.Changes = make([]Change, 0, len(changes))
	d.Counts.ByProvider, d.Counts.ByType = map[string]Tally{}, map[string]Tally{}
	for i := range changes {
		c, err := b.change(&changes[i])
		if err != nil {
			return err
		}
		changes[i] = shownResource{} // its raw values are garbage now
		d.Changes = append(d.Changes, c)
		d.Counts.add(&c)
	}
	for i := range drift {
		c, err := b.change(&drift[i])
		if err != nil {
			return err
		}
		drift[i] = shownResource{}
		d.Drift = append(d.Drift, c)
	}
	return nil
}

// values describes outputs and variables.
func (b *builder) values(outputs map[string]shownChange, variables map[string]struct{ Value json.RawMessage }) error {
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		c := outputs[name]
		s, err := c.decode(&b.parser)
		if err != nil {
			return fmt.Errorf("the output %s: %w", name, err)
		}
		o := Output{Name: name, Action: action(c.Actions, ""), Sensitive: marked(s.beforeSensitive) || marked(s.afterSensitive)}
		if s.before != nil {
			o.Before = b.value(s.before, s.beforeSensitive, nil)
		}
		if s.after != nil || marked(s.unknown) {
			o.After = b.value(s.after, s.afterSensitive, s.unknown)
		}
		b.document.Outputs = append(b.document.Outputs, o)
	}
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		value, err := decode(variables[name].Value)
		if err != nil {
			return fmt.Errorf("the variable %s: %w", name, err)
		}
		// Without the configuration nobody knows which are sensitive.
		secret := b.sensitive[name] || !b.document.Configuration.Known
		b.document.Variables = append(b.document.Variables, Variable{Name: name, Sensitive: secret, Value: b.value(value, secret, nil)})
	}
	return nil
}

// lockFile describes the dependency lock file.
func (b *builder) lockFile(text []byte) error {
	if text == nil {
		return nil
	}
	parsed, err := providers.ParseLockFile(text)
	if err != nil {
		return err
	}
	d := b.document
	d.LockFile = true
	if d.Digests.LockFile == "" {
		sum := sha256.Sum256(text)
		d.Digests.LockFile = "sha256:" + hex.EncodeToString(sum[:])
	}
	for _, lock := range parsed.Locks {
		d.Providers = append(d.Providers, Provider{Source: lock.Address.String(), Version: lock.Version, Constraint: lock.Constraints, Hashes: lock.Hashes})
	}
	slices.SortFunc(d.Providers, func(a, b Provider) int { return strings.Compare(a.Source, b.Source) })
	return nil
}
