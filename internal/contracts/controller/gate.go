// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/contracts/conform"
	"github.com/yuba-dev/yuba/internal/contracts/decide"
	"github.com/yuba-dev/yuba/internal/contracts/document"
	"github.com/yuba-dev/yuba/internal/contracts/paths"
	"github.com/yuba-dev/yuba/internal/contracts/revisions"
	"github.com/yuba-dev/yuba/internal/contracts/shape"
	"github.com/yuba-dev/yuba/internal/contracts/versions"
	"github.com/yuba-dev/yuba/internal/kit/scope"
)

// Publishes reports whether a stack's plans are judged.
func Publishes(t *infrav1.Terraform) bool { return len(t.Spec.Publishes) > 0 || len(published(t)) > 0 }

// promise is a contract of a producer, with its consumers.
type promise struct {
	contract  *known
	name      string
	spec      []infrav1.Publication
	published []versions.Version
	consumers []decide.Consumer
	// history has the types by which versions were published, once it is read for a plan or an apply.
	history revisions.History
}

// storeOf is where the revisions of a stack's contract are.
func storeOf(t *infrav1.Terraform, contract string) revisions.Producer {
	return revisions.Producer{Stack: string(t.Salt()), Contract: contract}
}

// promises reads the contracts and consumers of a producer.
func (b *Book) promises(ctx context.Context, t *infrav1.Terraform) ([]promise, error) {
	if !Publishes(t) {
		return nil, nil
	}
	consumers, err := b.indexed(ctx, indexProducers, t.Namespace+"/"+t.Name)
	if err != nil {
		return nil, err
	}
	var all []promise
	for _, name := range contractsOf(t) {
		p := promise{name: name}
		if p.contract, err = b.contract(ctx, types.NamespacedName{Namespace: t.Namespace, Name: name}); err != nil {
			return nil, err
		}
		for _, one := range t.Spec.Publishes {
			if one.Contract == name {
				p.spec = append(p.spec, one)
			}
		}
		for _, r := range published(t) {
			if v, err := versions.Parse(r.Version); err == nil && r.Contract == name {
				p.published = append(p.published, v)
			}
		}
		for i := range consumers {
			if p.consumers, err = b.consumers(ctx, t, &consumers[i], &p); err != nil {
				return nil, err
			}
		}
		slices.SortFunc(p.consumers, func(a, b decide.Consumer) int {
			return strings.Compare(a.Name+" "+a.As, b.Name+" "+b.As)
		})
		all = append(all, p)
	}
	return all, nil
}

// consumers adds the consumers of a promise that a stack has. Ones that could not consume before are
// no reason to hold a plan: otherwise any stack could block its producers.
func (b *Book) consumers(ctx context.Context, producer, t *infrav1.Terraform, p *promise) ([]decide.Consumer, error) {
	list := p.consumers
	if t.UID == producer.UID || p.contract == nil || scope.Of(t.Labels).Excludes(scope.Of(producer.Labels)) {
		return list, nil
	}
	for i := range t.Spec.Consumes {
		c := &t.Spec.Consumes[i]
		if c.Contract != p.name || producerOf(t, *c) != (types.NamespacedName{Namespace: producer.Namespace, Name: producer.Name}) {
			continue
		}
		granted, err := b.grants(ctx, p.contract.object, t.Namespace)
		if err != nil {
			return list, err
		}
		if consumer, ok := b.consumer(t, c); ok && granted {
			list = append(list, consumer)
		}
	}
	return list, nil
}

// consumer is a consumer as its status describes it. One whose program was not read yet takes
// everything.
func (b *Book) consumer(t *infrav1.Terraform, c *infrav1.Consumption) (decide.Consumer, bool) {
	r, err := versions.ParseRange(c.Version)
	if err != nil {
		return decide.Consumer{}, false
	}
	out := decide.Consumer{Name: t.Namespace + "/" + t.Name, As: c.As, Range: r, Reads: readsOf(c.Reads), Optional: c.Optional,
		Variable: shape.Variable{Nullable: true, Secret: true}}
	if t.Status.Contracts == nil {
		return out, true
	}
	i := slices.IndexFunc(t.Status.Contracts.Consumes, func(s infrav1.ConsumedContract) bool {
		return s.As == c.As && s.Contract == c.Contract && s.From == t.ConsumesFrom(*c) && s.Version == c.Version
	})
	if i < 0 {
		return out, true
	}
	s := &t.Status.Contracts.Consumes[i]
	if s.Problem != "" {
		return out, false
	}
	if len(s.Reads) > 0 {
		out.Reads = readsOf(s.Reads)
	}
	if s.Type != "" {
		if v, err := b.variableOf(s); err == nil {
			out.Variable = v
		}
	}
	return out, true
}

// readsOf parses paths of a status or spec; everything if there are none, or one cannot be parsed.
func readsOf(texts []string) paths.Set {
	var list []paths.Path
	for _, text := range texts {
		p, err := paths.Parse(text)
		if text == everything || err != nil {
			return paths.All()
		}
		list = append(list, p)
	}
	if len(list) == 0 {
		return paths.All()
	}
	return paths.Of(list...)
}

// Set identifies what the plans of a stack are judged by; empty if it publishes nothing.
func (b *Book) Set(ctx context.Context, t *infrav1.Terraform) (string, error) {
	all, err := b.promises(ctx, t)
	if err != nil || len(all) == 0 {
		return "", err
	}
	h := sha256.New()
	for _, p := range all {
		fmt.Fprintf(h, "contract %q %q %v\n", p.name, p.spec, p.published) //nolint:errcheck // a hash takes everything
		if p.contract != nil {
			for _, v := range p.contract.object.Status.Versions {
				fmt.Fprintf(h, "version %q %q %q %q\n", v.Version, v.Type, v.Private, v.Validations) //nolint:errcheck // see above
			}
		}
		for _, c := range p.consumers {
			fmt.Fprintf(h, "consumer %q %q %q %q %q %t\n", c.Name, c.As, c.Range.String(), c.Reads.String(), c.Variable.Type.String(), c.Optional) //nolint:errcheck // see above
		}
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}

// Judge judges a plan. changes are the planned outputs, by name: output_changes of `tofu show -json`.
// destroy is set if the plan destroys everything.
func (b *Book) Judge(ctx context.Context, t *infrav1.Terraform, changes map[string]json.RawMessage, destroy bool) ([]infrav1.ContractVerdict, error) {
	all, err := b.promises(ctx, t)
	if err != nil {
		return nil, err
	}
	var verdicts []infrav1.ContractVerdict
	for _, p := range all {
		if p.history, err = b.Store.History(ctx, storeOf(t, p.name)); err != nil {
			return nil, err
		}
		v, err := p.judge(ctx, t, func(name string) (document.Output, error) {
			change, found := changes[name]
			if !found {
				return document.Output{Gone: true}, nil
			}
			return document.Planned(change)
		}, destroy)
		if err != nil {
			return nil, err
		}
		verdicts = append(verdicts, v)
	}
	return verdicts, nil
}

// judge judges what a stack would publish.
func (p *promise) judge(ctx context.Context, t *infrav1.Terraform, output func(name string) (document.Output, error), destroy bool) (infrav1.ContractVerdict, error) {
	facts := decide.Producer{Stack: t.Namespace + "/" + t.Name, Contract: p.name, Published: p.published, Consumers: p.consumers}
	for _, one := range p.spec {
		if destroy {
			break
		}
		publication, err := p.publication(ctx, one, output)
		var lacking *problem
		if asProblem(err, &lacking) {
			return infrav1.ContractVerdict{Contract: p.name, Versions: p.versions(), Outcome: infrav1.ContractBreaks, Message: lacking.message}, nil
		}
		if err != nil {
			return infrav1.ContractVerdict{}, err
		}
		facts.Planned = append(facts.Planned, publication)
	}
	return verdictOf(p, decide.Judge(facts)), nil
}

// publication checks an output against a version.
func (p *promise) publication(ctx context.Context, one infrav1.Publication, output func(name string) (document.Output, error)) (decide.Publication, error) {
	v, err := versions.Parse(one.Version)
	if err != nil {
		return decide.Publication{}, wrong("", "spec.publishes: %v", err)
	}
	e, found := p.contract.edition(v)
	if !found {
		return decide.Publication{}, wrong("", "the Contract %s has no version %s, so output %s cannot be published. Declare the version in the Contract, or correct spec.publishes",
			p.name, one.Version, one.Value)
	}
	if err := p.history.Agrees(p.name, one.Version, revisions.TypeDigest(e.Type)); err != nil {
		return decide.Publication{}, wrong("", "%v", err)
	}
	value, err := output(one.Value)
	if err != nil {
		return decide.Publication{}, fmt.Errorf("read output %s: %w", one.Value, err)
	}
	result := conform.Check(e.Type, e.private, value)
	if err := e.validate(ctx, &result); err != nil {
		return decide.Publication{}, err
	}
	return decide.Publication{Edition: e.Edition, Output: one.Value, Result: result}, nil
}

func (p *promise) versions() []string {
	var all []string
	for _, one := range p.spec {
		all = append(all, one.Version)
	}
	return all
}

var outcomes = map[conform.Outcome]infrav1.ContractOutcome{
	conform.Fits: infrav1.ContractFits, conform.Breaks: infrav1.ContractBreaks, conform.Unknown: infrav1.ContractUnknown}

// maxBroken limits the harms in a status; the message counts the others.
const maxBroken = 50

func verdictOf(p *promise, v decide.Verdict) infrav1.ContractVerdict {
	out := infrav1.ContractVerdict{Contract: p.name, Versions: p.versions(), Outcome: outcomes[v.Outcome], Message: infrav1.TrimMessage(v.Message),
		BrokenConsumers: int32(len(v.Consumers()))} //nolint:gosec // a number of stacks
	for _, h := range v.Broken[:min(len(v.Broken), maxBroken)] {
		out.Broken = append(out.Broken, infrav1.ContractHarm{Consumer: h.Consumer, Version: h.Range, Path: h.Path, Says: h.Says})
	}
	return out
}
