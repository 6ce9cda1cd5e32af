// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/contracts/conform"
	"github.com/yuba-dev/yuba/internal/contracts/decide"
	"github.com/yuba-dev/yuba/internal/contracts/document"
	"github.com/yuba-dev/yuba/internal/contracts/shape"
	"github.com/yuba-dev/yuba/internal/contracts/versions"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
)

// Limits of the status of a contract.
const (
	maxVersions  = 100
	maxRevisions = 1000
)

// declared is the version that a spec declares.
func declared(c *yubav1.Contract) yubav1.ContractVersion {
	s := &c.Spec
	return yubav1.ContractVersion{Version: s.Version, Type: s.Type, Private: s.Private, Deprecated: s.Deprecated, Validations: s.Validations}
}

// admit decides about the version of the spec, and returns the versions that the contract has.
// An error is a *problem.
func admit(ctx context.Context, c *yubav1.Contract, publishes []infrav1.Terraform, now time.Time) ([]yubav1.ContractVersion, error) {
	have := c.Status.Versions
	v := declared(c)
	e, err := editionOf(v)
	if err != nil {
		return have, err
	}
	if err := examples(ctx, c, e); err != nil {
		return have, err
	}
	facts := decide.Contract{Name: c.Name, Declared: e.Edition}
	for _, k := range have {
		was, err := editionOf(k)
		if err != nil {
			return have, err
		}
		facts.Known = append(facts.Known, was.Edition)
	}
	a := decide.Admit(facts)
	if !a.Allowed {
		return have, &problem{admissionReasons[a.Reason], a.Message}
	}
	v.Type = e.Type.String()
	at := metav1.NewTime(now.Truncate(time.Second))
	v.DeclaredAt = &at
	have = slices.Clone(have)
	if i := slices.IndexFunc(have, func(k yubav1.ContractVersion) bool { return k.Version == v.Version }); i >= 0 {
		v.DeclaredAt = have[i].DeclaredAt
		have[i] = v // what is private, deprecated or valid may change
		return have, nil
	}
	if len(have) >= maxVersions {
		i := slices.IndexFunc(have, func(k yubav1.ContractVersion) bool { return !used(c.Name, k.Version, publishes) })
		if i < 0 {
			return have, wrong(yubav1.ReasonTooManyVersions, "contract %s has %d versions, and all of them are published. Stop publishing an old one", c.Name, len(have))
		}
		have = slices.Delete(have, i, i+1)
	}
	have = append(have, v)
	slices.SortFunc(have, func(a, b yubav1.ContractVersion) int {
		one, _ := versions.Parse(a.Version) //nolint:errcheck // admitted ones parse
		two, _ := versions.Parse(b.Version) //nolint:errcheck // admitted ones parse
		return one.Compare(two)
	})
	return have, nil
}

var admissionReasons = map[decide.Reason]string{decide.ReasonVersionExists: yubav1.ReasonVersionExists,
	decide.ReasonBreakingChange: yubav1.ReasonBreakingChange, decide.ReasonTypeGrew: yubav1.ReasonTypeGrew}

// used reports whether some stack publishes a version, or has published it.
func used(contract, version string, publishes []infrav1.Terraform) bool {
	return slices.ContainsFunc(publishes, func(t infrav1.Terraform) bool {
		return slices.ContainsFunc(t.Spec.Publishes, func(p infrav1.Publication) bool { return p.Contract == contract && p.Version == version }) ||
			slices.ContainsFunc(published(&t), func(r infrav1.PublishedRevision) bool { return r.Contract == contract && r.Version == version })
	})
}

// examples checks the examples of a spec.
func examples(ctx context.Context, c *yubav1.Contract, e edition) error {
	for _, example := range c.Spec.Examples {
		value, err := document.Parse(example.Value.Raw)
		if err != nil {
			return wrong(yubav1.ReasonInvalidExample, "spec.examples: %s: %v", example.Name, err)
		}
		result := conform.Check(e.Type, e.private, document.Output{Value: value})
		if err := e.validate(ctx, &result); err != nil {
			return wrong(yubav1.ReasonInvalidExample, "spec.examples: %s: %v", example.Name, err)
		}
		if len(result.Breaks) > 0 {
			return wrong(yubav1.ReasonInvalidExample, "spec.examples: %s: %s", example.Name, says(result.Breaks, c.Name))
		}
	}
	return nil
}

// validate adds what the validations find to the result of a check.
func (e edition) validate(ctx context.Context, r *conform.Result) error {
	if len(r.Breaks) > 0 {
		return nil
	}
	breaks, unknown, err := e.validations.Check(ctx, r.Value)
	r.Breaks, r.Unknown = append(r.Breaks, breaks...), append(r.Unknown, unknown...)
	return err
}

// maxSaid limits the findings in a message.
const maxSaid = 10

func says(findings []conform.Finding, root string) string {
	var lines []string
	for i, f := range findings {
		if i == maxSaid {
			lines = append(lines, fmt.Sprintf("and %d more", len(findings)-maxSaid))
			break
		}
		lines = append(lines, f.In(root))
	}
	return strings.Join(lines, "; ")
}

// describe writes the status of a contract.
func describe(ctx context.Context, c *yubav1.Contract, publishes []infrav1.Terraform, now time.Time) {
	have, err := admit(ctx, c, publishes, now)
	c.Status.ObservedGeneration, c.Status.Versions = c.Generation, have
	c.Status.Revisions, c.Status.Published = revisionsOf(c.Name, publishes)
	var p *problem
	if errors.As(err, &p) {
		message := infrav1.TrimMessage(p.message)
		conditions.Set(c, "Ready", metav1.ConditionFalse, p.reason, message)
		conditions.Set(c, "Stalled", metav1.ConditionTrue, p.reason, message)
		return
	}
	conditions.Remove(c, "Stalled")
	conditions.Set(c, "Ready", metav1.ConditionTrue, yubav1.ReasonContractDeclared, readyMessage(c, len(publishes)))
}

func readyMessage(c *yubav1.Contract, publishers int) string {
	text := "version " + c.Spec.Version + " can be published and consumed"
	if len(c.Status.Versions) > 1 {
		var older []string
		for _, v := range c.Status.Versions {
			if v.Version != c.Spec.Version {
				older = append(older, v.Version)
			}
		}
		if len(older) > 5 {
			older = append([]string{fmt.Sprintf("%d older ones", len(older)-5)}, older[len(older)-5:]...)
		}
		text += ", as can " + strings.Join(older, ", ")
	}
	if publishers == 0 {
		text += "; no stack publishes it yet"
	}
	return text
}

// revisionsOf lists the last revisions that stacks published of a contract, and how many there were.
func revisionsOf(contract string, publishes []infrav1.Terraform) (list []yubav1.ContractRevision, total int64) {
	for i := range publishes {
		t, last := &publishes[i], int64(0)
		for _, r := range published(t) {
			if r.Contract != contract {
				continue
			}
			last = max(last, r.Number)
			list = append(list, yubav1.ContractRevision{Producer: t.Namespace + "/" + t.Name, Version: r.Version, Number: r.Number, Digest: r.Digest,
				PublishedAt: r.PublishedAt, Run: r.Run, SourceRevision: r.SourceRevision, ApprovedBy: r.ApprovedBy})
		}
		total += last
	}
	slices.SortFunc(list, func(a, b yubav1.ContractRevision) int {
		return cmp.Or(strings.Compare(a.Producer, b.Producer), strings.Compare(a.Version, b.Version))
	})
	return list[:min(len(list), maxRevisions)], total
}

// variableOf is what a consumer's status says about its variable.
func (b *Book) variableOf(c *infrav1.ConsumedContract) (shape.Variable, error) {
	ty, err := b.types.parse(c.Type)
	return shape.Variable{Type: ty, Nullable: c.Nullable, Secret: c.Secret}, err
}
