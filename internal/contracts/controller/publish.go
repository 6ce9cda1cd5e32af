// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/contracts/conform"
	"github.com/yuba-dev/yuba/internal/contracts/decide"
	"github.com/yuba-dev/yuba/internal/contracts/document"
	"github.com/yuba-dev/yuba/internal/contracts/revisions"
	"github.com/yuba-dev/yuba/internal/contracts/versions"
)

func asProblem(err error, p **problem) bool { return errors.As(err, p) }

// Applied is what a stack's last apply made.
type Applied struct {
	// Outputs are the outputs as of `tofu output -json`, by name.
	Outputs map[string]json.RawMessage
	// Run, SourceRevision and ApprovedBy describe the apply. Approved is set if people
	// approved the plan, Destroyed if it destroyed everything.
	Run, SourceRevision, ApprovedBy string
	Approved, Destroyed             bool
	Now                             time.Time
}

// Published is what a stack publishes after an apply.
type Published struct {
	Revisions []infrav1.PublishedRevision
	// New are the revisions that are new.
	New []infrav1.PublishedRevision
	// Problem says what was not published, or not retired, and why.
	Problem string
}

// Publish publishes what fits, and retires what is not published any more.
func (b *Book) Publish(ctx context.Context, t *infrav1.Terraform, a Applied) (*Published, error) {
	all, err := b.promises(ctx, t)
	if err != nil {
		return nil, err
	}
	out := &Published{}
	var problems []string
	for i := range all {
		p := &all[i]
		said, err := b.publish(ctx, t, p, a, out)
		if err != nil {
			return nil, err
		}
		problems = append(problems, said...)
	}
	slices.SortFunc(out.Revisions, func(a, b infrav1.PublishedRevision) int {
		return cmp.Or(strings.Compare(a.Contract, b.Contract), strings.Compare(a.Version, b.Version))
	})
	out.Problem = infrav1.TrimMessage(strings.Join(problems, "\n"))
	return out, nil
}

// publish publishes the versions of one contract.
func (b *Book) publish(ctx context.Context, t *infrav1.Terraform, p *promise, a Applied, out *Published) (problems []string, err error) {
	store := storeOf(t, p.name)
	if p.history, err = b.Store.History(ctx, store); err != nil {
		return nil, err
	}
	if !a.Destroyed {
		if problems, err = b.publishAll(ctx, t, p, store, a, out); err != nil {
			return nil, err
		}
	}
	for _, v := range p.published {
		if !a.Destroyed && slices.ContainsFunc(p.spec, func(one infrav1.Publication) bool { return one.Version == v.String() }) {
			continue
		}
		if names := p.needs(v); len(names) > 0 && !a.Destroyed {
			problems = append(problems, fmt.Sprintf("contract %s %s is not in spec.publishes any more, and is kept with its last value, because it is all that these stacks can read: %s",
				p.name, v, strings.Join(names, ", ")))
			out.keep(t, p.name, v.String())
			continue
		}
		if err := b.Store.Retire(ctx, store, v.String()); err != nil {
			return nil, err
		}
	}
	return problems, nil
}

func (b *Book) publishAll(ctx context.Context, t *infrav1.Terraform, p *promise, store revisions.Producer, a Applied, out *Published) (problems []string, err error) {
	for _, one := range p.spec {
		publication, err := p.publication(ctx, one, func(name string) (document.Output, error) {
			output, found := a.Outputs[name]
			if !found {
				return document.Output{Gone: true}, nil
			}
			return document.Published(output)
		})
		var lacking *problem
		switch {
		case asProblem(err, &lacking):
			problems = append(problems, lacking.message)
			out.keep(t, p.name, one.Version)
			continue
		case err != nil:
			return nil, err
		}
		if said := p.objection(t, publication, a.Approved); said != "" {
			problems = append(problems, said)
			out.keep(t, p.name, one.Version)
			continue
		}
		e, _ := p.contract.edition(publication.Version)
		at := metav1.NewTime(a.Now)
		r, isNew, err := b.Store.Publish(ctx, store, publication.Result.Value, !e.private.IsEmpty(), revisions.Revision{Version: one.Version, Type: revisions.TypeDigest(e.Type),
			PublishedAt: a.Now.UTC(), Run: a.Run, SourceRevision: a.SourceRevision, ApprovedBy: a.ApprovedBy})
		if err != nil {
			return nil, err
		}
		at.Time = r.PublishedAt
		revision := infrav1.PublishedRevision{Contract: p.name, Version: r.Version, Number: r.Number, Digest: r.Digest, PublishedAt: &at,
			Run: r.Run, SourceRevision: r.SourceRevision, ApprovedBy: r.ApprovedBy}
		out.Revisions = append(out.Revisions, revision)
		if isNew {
			out.New = append(out.New, revision)
		}
	}
	return problems, nil
}

// objection says why a value is not published: it does not fit, or it is a version that nobody
// approved and that consumers cannot read.
func (p *promise) objection(t *infrav1.Terraform, one decide.Publication, approved bool) string {
	if r := one.Result; r.Outcome() != conform.Fits {
		return fmt.Sprintf("contract %s %s was not published, and consumers keep what they have: %s", p.name, one.Version, says(append(r.Breaks, r.Unknown...), p.name))
	}
	if approved || slices.ContainsFunc(p.published, func(v versions.Version) bool { return v.Compare(one.Version) == 0 }) {
		return ""
	}
	var readers []decide.Consumer
	for _, c := range p.consumers {
		if c.Range.Has(one.Version) && !slices.ContainsFunc(p.published, func(v versions.Version) bool { return c.Range.Has(v) && v.Compare(one.Version) > 0 }) {
			readers = append(readers, c)
		}
	}
	v := decide.Judge(decide.Producer{Stack: t.Namespace + "/" + t.Name, Contract: p.name, Planned: []decide.Publication{one}, Consumers: readers})
	if v.Outcome == conform.Breaks {
		return fmt.Sprintf("contract %s %s was not published: %s", p.name, one.Version, v.Message)
	}
	return ""
}

// needs names the consumers that could read nothing without a version.
func (p *promise) needs(v versions.Version) []string {
	var names []string
	for _, c := range p.consumers {
		if !c.Range.Has(v) || c.Optional {
			continue
		}
		if !slices.ContainsFunc(p.spec, func(one infrav1.Publication) bool {
			other, err := versions.Parse(one.Version)
			return err == nil && c.Range.Has(other)
		}) {
			names = append(names, c.Name)
		}
	}
	return slices.Compact(names)
}

// keep keeps the last revision of a version.
func (out *Published) keep(t *infrav1.Terraform, contract, version string) {
	for _, r := range published(t) {
		if r.Contract == contract && r.Version == version {
			out.Revisions = append(out.Revisions, r)
		}
	}
}

// Needed names the stacks that consume what a stack has published and cannot run without it. A stack
// is deleted after them.
func (b *Book) Needed(ctx context.Context, t *infrav1.Terraform) ([]string, error) {
	if len(published(t)) == 0 {
		return nil, nil
	}
	consumers, err := b.indexed(ctx, indexProducers, t.Namespace+"/"+t.Name)
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range consumers {
		c := &consumers[i]
		for _, one := range c.Spec.Consumes {
			read := lastRead(c, one.As)
			if !one.Optional && !cycle(c) && c.ConsumesFrom(one) == t.Namespace+"/"+t.Name && c.UID != t.UID && read != nil && read.Number > 0 {
				names = append(names, c.Namespace+"/"+c.Name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
