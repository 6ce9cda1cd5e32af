// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/contracts/conform"
	"github.com/yuba-dev/yuba/internal/contracts/decide"
	"github.com/yuba-dev/yuba/internal/contracts/document"
	"github.com/yuba-dev/yuba/internal/contracts/paths"
	"github.com/yuba-dev/yuba/internal/contracts/versions"
)

// UnknownPart is a part of a planned output that is unknown until the producer is applied.
type UnknownPart struct {
	// From is NAMESPACE/NAME of the producer.
	From, Contract string
	// Path begins with the contract's name.
	Path string
}

// plannedPart stands for the digest of a part that is not published yet.
const plannedPart = "planned"

// plan chooses the highest version that the producer publishes after its plan, if that changes it and
// no higher one is published already.
func (o *one) plan(producer *infrav1.Terraform) {
	if o.planned == nil {
		return
	}
	var best versions.Version
	if o.chosen != nil {
		best, _ = versions.Parse(o.chosen.Version) //nolint:errcheck // it was chosen by its version
	}
	for _, p := range producer.Spec.Publishes {
		v, err := versions.Parse(p.Version)
		change, planned := o.planned[p.Value]
		if err != nil || p.Contract != o.spec.Contract || !o.in.Range.Has(v) || !planned || unchanged(change) {
			continue
		}
		e, ok := o.contract.edition(v)
		if !ok || (o.chosen != nil || o.output != "") && v.Compare(best) < 0 {
			continue
		}
		o.chosen, o.output, best, o.edition, o.found = nil, p.Value, v, e, true
		o.in.Revisions = slices.DeleteFunc(o.in.Revisions, func(r decide.Revision) bool { return r.Part == plannedPart })
		o.in.Revisions = append(o.in.Revisions, decide.Revision{Version: v, Number: math.MaxInt64, Part: plannedPart})
	}
}

// unchanged reports whether a plan leaves an output as it is.
func unchanged(change json.RawMessage) bool {
	var c struct {
		Actions []string `json:"actions"`
	}
	return json.Unmarshal(change, &c) == nil && slices.Equal(c.Actions, []string{"no-op"})
}

// takePlanned sets the value of a variable to a part of a planned output. It pins nothing.
func (o *one) takePlanned(ctx context.Context, reads paths.Set, out *Consumption) error {
	output, err := document.Planned(o.planned[o.output])
	if err != nil {
		return fmt.Errorf("read output %s of %s: %w", o.output, o.producer, err)
	}
	result := conform.Check(o.edition.Type, o.edition.private, output)
	if err := o.edition.validate(ctx, &result); err != nil {
		return err
	}
	if result.Outcome() == conform.Breaks {
		out.Problem = addLine(out.Problem, fmt.Sprintf("the plan of %s breaks contract %s %s: %s", o.producer, o.spec.Contract, o.edition.Version,
			says(result.Breaks, o.spec.Contract)))
		return nil
	}
	text, err := document.Canonical(document.Project(result.Value, reads))
	if errors.Is(err, document.ErrUnknown) {
		out.Unknown = append(out.Unknown, o.unknown(result, reads)...)
		return nil
	}
	if err != nil {
		return fmt.Errorf("read contract %s of %s: %w", o.spec.Contract, o.producer, err)
	}
	private := output.Sensitive || slices.ContainsFunc(o.edition.private.Paths(), reads.Meets)
	out.Values[o.spec.As] = Value{JSON: text, Private: private, Origin: fmt.Sprintf("contract %s %s of %s, as planned", o.spec.Contract, o.edition.Version, o.producer)}
	return nil
}

// unknown lists what a stack reads of a value that is not known; the whole contract if no part is to
// blame alone.
func (o *one) unknown(r conform.Result, reads paths.Set) []UnknownPart {
	var parts []UnknownPart
	for _, f := range r.Unknown {
		if reads.Meets(f.Path) {
			parts = append(parts, UnknownPart{From: o.producer.String(), Contract: o.spec.Contract, Path: f.Path.In(o.spec.Contract)})
		}
	}
	if len(parts) == 0 {
		parts = append(parts, UnknownPart{From: o.producer.String(), Contract: o.spec.Contract, Path: o.spec.Contract})
	}
	return parts
}

func addLine(text, line string) string {
	if text == "" {
		return line
	}
	return text + "\n" + line
}
