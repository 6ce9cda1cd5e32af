// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/contracts/decide"
	"github.com/yuba-dev/yuba/internal/contracts/document"
	"github.com/yuba-dev/yuba/internal/contracts/paths"
	"github.com/yuba-dev/yuba/internal/contracts/revisions"
	"github.com/yuba-dev/yuba/internal/contracts/shape"
	"github.com/yuba-dev/yuba/internal/contracts/versions"
	"github.com/yuba-dev/yuba/internal/kit/scope"
)

// Variables finds the variables of a consumer's program. known is false while the program cannot tell
// its variables, such as a template.
type Variables func(name string) (v shape.Variable, declared, known bool)

// Value is the value of a variable.
type Value struct {
	// JSON is the canonical JSON of the part that the stack reads.
	JSON []byte
	// Private is set if the part has private parts.
	Private bool
	// Origin says where the value comes from.
	Origin string
}

// Consumption is what a stack reads now.
type Consumption struct {
	// Status describes the declarations, sorted as in the spec.
	Status []infrav1.ConsumedContract
	// Values are the variables' values, and Pins what they were taken from; none while the stack
	// waits, or cannot consume as it declares.
	Values map[string]Value
	Pins   []infrav1.ContractPin
	// Problem says why the stack cannot consume as it declares it, Waiting which producers are
	// missing, Moved what has changed since the pending plan, Changed what has changed since the last
	// apply.
	Problem, Waiting, Moved, Changed string
	// WaitsFor are the producers that it waits for.
	WaitsFor string
	Warnings []string
	// Unknown are the parts that the stack reads of planned outputs and that are unknown until the
	// producer is applied: FROM, and the path behind the contract's name.
	Unknown []UnknownPart
}

// one is a consumption while it is resolved.
type one struct {
	spec     infrav1.Consumption
	producer types.NamespacedName
	contract *known
	in       decide.Input
	edition  edition
	found    bool
	store    revisions.Producer
	chosen   *infrav1.PublishedRevision
	// planned are the planned outputs of the producer; nil to read what is published. output is the
	// planned output that is in place of a revision; empty for none.
	planned map[string]json.RawMessage
	output  string
	// missing says why there is nothing to read, if it is not the producer.
	missing string
	problem string
}

// Consume finds out what a stack reads: its declarations, the values, and what has changed.
func (b *Book) Consume(ctx context.Context, t *infrav1.Terraform, variables Variables) (*Consumption, error) {
	return b.ConsumePlanned(ctx, t, variables, nil)
}

// ConsumePlanned is Consume with the planned outputs of producers, by NAMESPACE/NAME, in place of what
// they have published.
func (b *Book) ConsumePlanned(ctx context.Context, t *infrav1.Terraform, variables Variables, planned map[string]map[string]json.RawMessage) (*Consumption, error) {
	out := &Consumption{Values: map[string]Value{}}
	var all []*one
	for _, c := range t.Spec.Consumes {
		o, status, err := b.declare(ctx, t, c, variables, planned, out)
		if err != nil {
			return nil, err
		}
		all, out.Status = append(all, o), append(out.Status, status)
	}
	out.Problem = problemsOf(all)
	facts := decide.Stack{Plan: t.Status.Plan.Pending != "", Pins: pinsOf(t)}
	for _, o := range all {
		facts.Inputs = append(facts.Inputs, o.in)
	}
	c := decide.Consume(facts)
	switch c.Verb {
	case decide.Wait:
		out.Waiting, out.WaitsFor = waiting(c.Message, all), c.Subject
	case decide.Replan:
		out.Moved = c.Message
	case decide.Run:
		out.Changed = c.Message
	}
	if out.Problem != "" {
		out.Waiting, out.WaitsFor = "", ""
	}
	if out.Problem != "" || out.Waiting != "" {
		return out, nil
	}
	for _, o := range all {
		if err := b.take(ctx, o, c, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// pinsOf are the revisions that the pending plan used.
func pinsOf(t *infrav1.Terraform) []decide.Pin {
	if t.Status.Plan.Contracts == nil {
		return nil
	}
	var pins []decide.Pin
	for _, p := range t.Status.Plan.Contracts.Pins {
		pins = append(pins, decide.Pin{As: p.As, Number: p.Number, Part: p.Part})
	}
	return pins
}

func problemsOf(all []*one) string {
	var lines []string
	for _, o := range all {
		if o.problem != "" {
			lines = append(lines, fmt.Sprintf("cannot consume contract %s of %s as var.%s: %s", o.spec.Contract, o.producer, o.spec.As, o.problem))
		}
	}
	return strings.Join(lines, "\n")
}

// waiting adds why a producer is missing if that is not its own doing.
func waiting(message string, all []*one) string {
	for _, o := range all {
		if o.missing != "" && !o.spec.Optional {
			message += ": " + o.missing
		}
	}
	return message
}

// declare checks one declaration.
func (b *Book) declare(ctx context.Context, t *infrav1.Terraform, c infrav1.Consumption, variables Variables, planned map[string]map[string]json.RawMessage, out *Consumption) (*one, infrav1.ConsumedContract, error) {
	o := &one{spec: c, producer: producerOf(t, c)}
	o.planned = planned[o.producer.String()]
	status := infrav1.ConsumedContract{As: c.As, Contract: c.Contract, From: o.producer.String(), Version: c.Version, Optional: c.Optional, Nullable: true}
	o.in = decide.Input{As: c.As, Contract: c.Contract, From: o.producer.String(), Optional: c.Optional, Reads: paths.All()}
	if was := lastRead(t, c.As); was != nil && was.From == o.in.From && was.Contract == c.Contract {
		status.Read, o.in.LastRead = was, was.Part
	}
	v, declared, known := variables(c.As)
	var err error
	if o.in.Range, err = versions.ParseRange(c.Version); err != nil {
		o.problem = err.Error()
	} else if known && !declared {
		o.problem = fmt.Sprintf("the program does not declare a variable %q", c.As)
	} else if err := b.find(ctx, t, o); err != nil {
		return nil, status, err
	}
	if known && declared {
		status.Type, status.Secret, status.Nullable = v.Type.String(), v.Secret, v.AcceptsNull()
	}
	b.reads(o, v, known && declared)
	if o.problem == "" && known && declared {
		o.check(t, v, out)
	}
	for _, p := range o.in.Reads.Paths() {
		status.Reads = append(status.Reads, textOf(p))
	}
	status.Problem = infrav1.TrimMessage(o.problem)
	if o.chosen != nil && o.problem == "" {
		if err := b.part(ctx, o); err != nil {
			return nil, status, err
		}
	}
	return o, status, nil
}

// everything is the text of the path that leads to the whole value.
const everything = "*"

func textOf(p paths.Path) string {
	if len(p) == 0 {
		return everything
	}
	return p.String()
}

func lastRead(t *infrav1.Terraform, as string) *infrav1.ContractPin {
	if t.Status.Contracts == nil {
		return nil
	}
	for _, c := range t.Status.Contracts.Consumes {
		if c.As == as {
			return c.Read
		}
	}
	return nil
}

// find reads contract and producer, and chooses the revision.
func (b *Book) find(ctx context.Context, t *infrav1.Terraform, o *one) error {
	name := types.NamespacedName{Namespace: o.producer.Namespace, Name: o.spec.Contract}
	contract, err := b.contract(ctx, name)
	if err != nil {
		return err
	}
	granted := false
	if contract != nil {
		if granted, err = b.grants(ctx, contract.object, t.Namespace); err != nil {
			return err
		}
	}
	switch {
	case !granted && name.Namespace != t.Namespace:
		// Who may not read it does not learn whether it exists.
		o.missing = fmt.Sprintf("the Contract %s does not exist, or does not grant namespace %s (spec.grants)", name, t.Namespace)
		return nil
	case contract == nil:
		o.missing = fmt.Sprintf("the Contract %s does not exist", name)
		return nil
	}
	o.contract = contract
	o.edition, o.found = contract.newest(o.in.Range)
	return b.choose(ctx, t, o)
}

// choose finds the producer's highest revision in the range.
func (b *Book) choose(ctx context.Context, t *infrav1.Terraform, o *one) error {
	var producer infrav1.Terraform
	err := b.Cache.Get(ctx, o.producer, &producer, client.UnsafeDisableDeepCopy)
	from := &Foreign{Salt: string(producer.Salt()), Labels: producer.Labels, Published: published(&producer)}
	if apierrors.IsNotFound(err) {
		from, err = nil, nil
		if b.Elsewhere != nil {
			from, err = b.Elsewhere(ctx, o.producer)
		}
	}
	if err != nil {
		return fmt.Errorf("read stack %s: %w", o.producer, err)
	}
	if from == nil {
		o.missing = fmt.Sprintf("the stack %s does not exist", o.producer)
		return nil
	}
	if scope.Of(t.Labels).Excludes(scope.Of(from.Labels)) {
		o.missing = fmt.Sprintf("the stack %s belongs to another tenant", o.producer)
		return nil
	}
	o.store = revisions.Producer{Stack: from.Salt, Contract: o.spec.Contract}
	list := from.Published
	var best versions.Version
	for i := range list {
		r := &list[i]
		v, err := versions.Parse(r.Version)
		if r.Contract != o.spec.Contract || err != nil {
			continue
		}
		o.in.Revisions = append(o.in.Revisions, decide.Revision{Version: v, Number: r.Number})
		if e, ok := o.contract.edition(v); o.in.Range.Has(v) && ok && (o.chosen == nil || v.Compare(best) > 0) {
			o.chosen, best, o.edition, o.found = r, v, e, true
		}
	}
	o.plan(&producer)
	// Only editions can be read.
	o.in.Revisions = slices.DeleteFunc(o.in.Revisions, func(r decide.Revision) bool { _, ok := o.contract.edition(r.Version); return !ok })
	return nil
}

// reads finds out which part the stack reads.
func (b *Book) reads(o *one, v shape.Variable, declared bool) {
	if len(o.spec.Reads) > 0 {
		var list []paths.Path
		for _, text := range o.spec.Reads {
			p, err := paths.Parse(text)
			if err != nil && o.problem == "" {
				o.problem = "spec.consumes: reads: " + err.Error()
			}
			list = append(list, p)
		}
		o.in.Reads = paths.Of(list...)
		return
	}
	if o.found && declared {
		o.in.Reads = shape.Reads(o.edition.Type, v.Type)
	}
}

// check compares the variable with the contract.
func (o *one) check(t *infrav1.Terraform, v shape.Variable, out *Consumption) {
	if o.found {
		d := decide.Declare(decide.Declaration{Contract: o.spec.Contract, Edition: o.edition.Edition, Private: o.edition.private, Deprecated: o.edition.deprecated,
			Consumer: decide.Consumer{Name: t.Namespace + "/" + t.Name, As: o.spec.As, Range: o.in.Range, Reads: o.in.Reads, Variable: v, Optional: o.spec.Optional}})
		o.problem = problemText(d.Problems)
		for _, w := range d.Warnings {
			out.Warnings = append(out.Warnings, o.warning(w))
		}
		return
	}
	if o.spec.Optional && !v.AcceptsNull() {
		o.problem = fmt.Sprintf("it is null while there is no producer, as it is optional; the variable %s is not nullable and has no default", o.spec.As)
	}
}

// warning adds the reason of a deprecation.
func (o *one) warning(w decide.Problem) string {
	text := fmt.Sprintf("%s, which var.%s reads, %s", w.Path, o.spec.As, w.Message)
	for _, d := range o.contract.object.Spec.Deprecated {
		if p, err := paths.Parse(d.Path); err == nil && p.In(o.spec.Contract) == w.Path && d.Message != "" {
			text += ": " + d.Message
		}
	}
	return text
}

func problemText(list []decide.Problem) string {
	var lines []string
	for i, p := range list {
		if i == maxSaid {
			lines = append(lines, fmt.Sprintf("and %d more", len(list)-maxSaid))
			break
		}
		lines = append(lines, p.Path+" "+p.Message)
	}
	return strings.Join(lines, "; ")
}

// part computes the digest of the part that the stack reads of the chosen revision.
func (b *Book) part(ctx context.Context, o *one) error {
	history, value, err := b.revision(ctx, o)
	if other := new(revisions.OtherType); errors.As(err, &other) {
		o.missing, o.chosen, o.in.Revisions = other.Error(), nil, nil
		return nil
	}
	if errors.Is(err, revisions.ErrNotFound) {
		// The status of the producer may be older than its store: it publishes again.
		o.missing = fmt.Sprintf("revision %d is not stored", o.chosen.Number)
		o.chosen, o.in.Revisions = nil, nil
		return nil
	}
	if err != nil {
		return err
	}
	digest, err := history.Part(value, o.in.Reads, o.edition.private)
	if err != nil {
		return fmt.Errorf("read contract %s of %s: %w", o.spec.Contract, o.producer, err)
	}
	for i := range o.in.Revisions {
		if r := &o.in.Revisions[i]; r.Number == o.chosen.Number {
			r.Part = digest
		}
	}
	return nil
}

func (b *Book) revision(ctx context.Context, o *one) (revisions.History, cty.Value, error) {
	history, err := b.Store.Lookup(ctx, o.store, o.chosen.Number)
	if err != nil {
		return history, cty.NilVal, err
	}
	if err := history.Agrees(o.spec.Contract, o.chosen.Version, revisions.TypeDigest(o.edition.Type)); err != nil {
		return history, cty.NilVal, err
	}
	value, err := b.Store.Value(ctx, o.store, o.chosen.Number)
	return history, value, err
}

// take sets the value of a variable, and its pin.
func (b *Book) take(ctx context.Context, o *one, c decide.Consumption, out *Consumption) error {
	i := slices.IndexFunc(c.Uses, func(u decide.Use) bool { return u.As == o.spec.As })
	u := c.Uses[i]
	pin := infrav1.ContractPin{As: o.spec.As, Contract: o.spec.Contract, From: o.producer.String(), Part: u.Revision.Part}
	if u.Null {
		out.Values[o.spec.As] = Value{JSON: []byte("null"), Origin: fmt.Sprintf("contract %s of %s, which is not published", o.spec.Contract, o.producer)}
		out.Pins = append(out.Pins, pin)
		return nil
	}
	if o.output != "" {
		return o.takePlanned(ctx, u.Reads, out)
	}
	_, value, err := b.revision(ctx, o)
	if err != nil {
		return err
	}
	text, err := document.Canonical(document.Project(value, u.Reads))
	if err != nil {
		return fmt.Errorf("read contract %s of %s: %w", o.spec.Contract, o.producer, err)
	}
	pin.Version, pin.Number, pin.Digest = o.chosen.Version, o.chosen.Number, o.chosen.Digest
	private := slices.ContainsFunc(o.edition.private.Paths(), u.Reads.Meets)
	out.Values[o.spec.As] = Value{JSON: text, Private: private, Origin: fmt.Sprintf("contract %s %s of %s", o.spec.Contract, o.chosen.Version, o.producer)}
	out.Pins = append(out.Pins, pin)
	return nil
}
