// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zclconf/go-cty/cty"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/contracts/conform"
	"github.com/yuba-dev/yuba/internal/contracts/document"
	"github.com/yuba-dev/yuba/internal/contracts/paths"
	"github.com/yuba-dev/yuba/internal/contracts/revisions"
	"github.com/yuba-dev/yuba/internal/contracts/versions"
)

// Elsewhere finds what is published for a stack that is not here, by its name; nil if nothing is.
type Elsewhere func(ctx context.Context, name types.NamespacedName) (*Foreign, error)

// Foreign is a producer that is not a stack.
type Foreign struct {
	// Salt identifies its revisions in the store.
	Salt string
	// Labels are as those of a stack.
	Labels    map[string]string
	Published []infrav1.PublishedRevision
}

// Want names a revision to read.
type Want struct {
	// Namespace and Labels are those of the reader: contracts of other namespaces must grant it.
	Namespace string
	Labels    map[string]string
	Producer  types.NamespacedName
	Contract  string
	// Version is a range, Reads are the parts; empty for all.
	Version string
	Reads   []string
}

// Reading is the highest published revision in a range.
type Reading struct {
	// Problem says why the reader cannot have it, Missing why there is nothing yet.
	Problem, Missing string
	Version          string
	Number           int64
	Digest           string
	// Value is the part, Private whether it has private parts.
	Value   cty.Value
	Private bool
	// History keys digests of documents.
	History revisions.History
}

// Read finds the highest published revision in a range, for a reader that is not a stack.
func (b *Book) Read(ctx context.Context, w Want) (*Reading, error) {
	t := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Labels: w.Labels}}
	o := &one{producer: w.Producer, spec: infrav1.Consumption{Contract: w.Contract, Version: w.Version, Reads: w.Reads}}
	out := &Reading{}
	var err error
	if o.in.Range, err = versions.ParseRange(w.Version); err != nil {
		out.Problem = "spec.version: " + err.Error()
		return out, nil
	}
	if err := b.find(ctx, t, o); err != nil {
		return nil, err
	}
	if o.chosen == nil {
		out.Missing = o.missing
		if out.Missing == "" {
			out.Missing = fmt.Sprintf("stack %s has not published contract %s %s yet", o.producer, w.Contract, w.Version)
		}
		return out, nil
	}
	reads := paths.All()
	if len(w.Reads) > 0 {
		if reads, err = pathsIn(o.edition.Type, "spec.reads", w.Reads); err != nil {
			out.Problem = err.Error()
			return out, nil
		}
	}
	var value cty.Value
	out.History, value, err = b.revision(ctx, o)
	if other := new(revisions.OtherType); errors.As(err, &other) {
		out.Missing = other.Error()
		return out, nil
	}
	if errors.Is(err, revisions.ErrNotFound) {
		out.Missing = fmt.Sprintf("revision %d of contract %s is not stored yet", o.chosen.Number, w.Contract)
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	out.Version, out.Number, out.Digest = o.chosen.Version, o.chosen.Number, o.chosen.Digest
	out.Value = document.Project(value, reads)
	out.Private = slices.ContainsFunc(o.edition.private.Paths(), reads.Meets)
	return out, nil
}

// Fit is what a document is for a contract.
type Fit struct {
	// Problem says why the document can never be published as this version, Misfit why this content
	// is not a value of it.
	Problem, Misfit string
	// Type is the digest of the version's type.
	Type    string
	Value   cty.Value
	Private bool
	// Last is the last revision of the version; its number is 0 if there is none.
	Last    revisions.Revision
	History revisions.History
}

// Fits checks a document of a producer that is not a stack. An empty content is not checked.
func (b *Book) Fits(ctx context.Context, salt string, contract types.NamespacedName, version string, content []byte) (*Fit, error) {
	out := &Fit{}
	v, err := versions.Parse(version)
	if err != nil {
		out.Problem = "spec.version: " + err.Error()
		return out, nil
	}
	known, err := b.contract(ctx, contract)
	if err != nil {
		return nil, err
	}
	e, found := known.edition(v)
	if !found {
		out.Problem = fmt.Sprintf("the Contract %s does not exist or has no version %s. Declare it", contract, version)
		return out, nil
	}
	out.Private, out.Type = !e.private.IsEmpty(), revisions.TypeDigest(e.Type)
	if out.History, err = b.Store.History(ctx, revisions.Producer{Stack: salt, Contract: contract.Name}); err != nil {
		return nil, err
	}
	if err := out.History.Agrees(contract.Name, version, out.Type); err != nil {
		out.Problem = err.Error()
		return out, nil
	}
	out.Last, _ = out.History.Last(version)
	if content == nil {
		return out, nil
	}
	value, err := document.Parse(content)
	if err != nil {
		out.Misfit = "it is not a JSON document: " + err.Error()
		return out, nil
	}
	result := conform.Check(e.Type, e.private, document.Output{Value: value})
	if err := e.validate(ctx, &result); err != nil {
		return nil, err
	}
	if result.Outcome() != conform.Fits {
		out.Misfit = says(append(result.Breaks, result.Unknown...), contract.Name)
		return out, nil
	}
	out.Value = result.Value
	return out, nil
}

// PublishDocument stores a value that fits as a revision.
func (b *Book) PublishDocument(ctx context.Context, salt, contract, version string, fit *Fit, origin string, now time.Time) (revisions.Revision, error) {
	r, _, err := b.Store.Publish(ctx, revisions.Producer{Stack: salt, Contract: contract}, fit.Value, fit.Private,
		revisions.Revision{Version: version, Type: fit.Type, PublishedAt: now.UTC(), SourceRevision: origin})
	return r, err
}

// Consumers names the stacks that consume from a producer.
func (b *Book) Consumers(ctx context.Context, producer types.NamespacedName) ([]types.NamespacedName, error) {
	list, err := b.indexed(ctx, indexProducers, producer.String())
	var names []types.NamespacedName
	for i := range list {
		names = append(names, client.ObjectKeyFromObject(&list[i]))
	}
	return names, err
}
