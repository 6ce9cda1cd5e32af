// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/policy/celrule"
	"github.com/yuba-dev/yuba/internal/policy/decide"
	"github.com/yuba-dev/yuba/internal/policy/facts"
	"github.com/yuba-dev/yuba/internal/policy/rego"
	"github.com/yuba-dev/yuba/internal/policy/rules"
)

// custom is a rule of the policy's author. Its problem says why the plan cannot be judged.
type custom func(ctx context.Context, f *facts.Document, now time.Time) (result rules.Result, problem string)

// prepareCustom prepares the rules of one entry of a policy that is not built in. Rules in Rego have two: what they deny
// has the effect of the entry, and what they warn of is a warning.
func (p *policy) prepareCustom(i int, r *yubav1.PolicyRule) bool {
	at := fmt.Sprintf("spec.rules[%d]", i)
	if r.With != nil && r.Builtin == "" {
		// The API cannot check this: it does not know the fields of parameters.
		p.rules = append(p.rules, rule{name: cmp.Or(r.Name, fmt.Sprintf("rule-%d", i+1)), effect: decide.Effect(r.OnViolation),
			problem: at + ".with: only built-in rules have parameters"})
		return true
	}
	switch {
	case r.CEL != "":
		one := rule{name: cmp.Or(r.Name, fmt.Sprintf("cel-%d", i+1)), effect: decide.Effect(r.OnViolation)}
		compiled, err := celrule.Compile(r.CEL, r.Message)
		if err != nil {
			one.problem = fmt.Sprintf("%s.cel: %s", at, err)
		} else {
			one.custom = inCEL(compiled)
		}
		p.rules = append(p.rules, one)
	case r.Rego != nil:
		name := cmp.Or(r.Name, fmt.Sprintf("rego-%d", i+1))
		source := p.source(at, r.Rego)
		p.sources = append(p.sources, source)
		denied := rule{name: name, effect: decide.Effect(r.OnViolation), problem: source.problem}
		warned := rule{name: name, effect: decide.EffectWarn}
		if source.problem == "" {
			denied.custom, warned.custom = inRego(p.attached, source, false), inRego(p.attached, source, true)
		}
		p.rules = append(p.rules, denied, warned)
	default:
		return false
	}
	return true
}

func inCEL(compiled *celrule.Rule) custom {
	return func(ctx context.Context, f *facts.Document, now time.Time) (rules.Result, string) {
		if ctx.Err() != nil {
			return overBudget(ctx, now)
		}
		verdict, err := compiled.Judge(ctx, f)
		switch {
		case err != nil && ctx.Err() != nil:
			return overBudget(ctx, now)
		case err != nil:
			return rules.Result{}, err.Error()
		case verdict.Message != "":
			return rules.Result{Findings: []rules.Finding{{Message: verdict.Message, Unknown: verdict.Unknown}}}, ""
		}
		return rules.Result{}, ""
	}
}

// source says where rules in Rego are.
type source struct {
	// at is the field in the policy.
	at, pkg string
	// ref is KIND/NAMESPACE/NAME, and path the directory in it; inline has the rules otherwise.
	ref, path string
	inline    *rego.Bundle
	problem   string
}

// source reads an entry.
func (p *policy) source(at string, r *yubav1.PolicyRego) *source {
	s := &source{at: at + ".rego", pkg: cmp.Or(r.Package, rego.DefaultPackage)}
	if r.SourceRef == nil {
		var err error
		if s.inline, err = rego.NewBundle(map[string]string{"inline.rego": r.Inline}); err != nil {
			s.problem = fmt.Sprintf("%s.inline: %s", s.at, err)
		}
		return s
	}
	_, own, _ := strings.Cut(p.name, "/")
	own, _, local := strings.Cut(own, "/")
	if !local {
		own = ""
	}
	namespace := cmp.Or(r.SourceRef.Namespace, own)
	switch {
	case namespace == "":
		s.problem = s.at + ".sourceRef.namespace is missing: a ClusterPolicy has none of its own"
	case local && namespace != own:
		s.problem = fmt.Sprintf("%s.sourceRef.namespace is %q: a Policy can only use sources of its own namespace", s.at, namespace)
	}
	s.ref = r.SourceRef.Kind + "/" + namespace + "/" + r.SourceRef.Name
	s.path = strings.TrimPrefix(path.Clean("/"+r.Path), "/")
	return s
}

// bundleOf returns the rules from a source that are in force.
func (a *attachment) bundleOf(s *source) *yubav1.PolicyBundle {
	at := slices.IndexFunc(a.bundles, func(b yubav1.PolicyBundle) bool { return b.Source == s.ref && b.Path == s.path })
	if at < 0 {
		return nil
	}
	return &a.bundles[at]
}

// attach connects a policy with what evaluates its rules, and with the rules from sources that are in
// force. They are a part of its digest.
func (p *policy) attach(e *Evaluator, bundles []yubav1.PolicyBundle) *policy {
	p.attached.evaluator, p.attached.bundles = e, bundles
	if len(p.sources) > 0 {
		sum := sha256.New()
		fmt.Fprintf(sum, "%s\n", p.digest) //nolint:errcheck // a hash takes everything
		for _, s := range p.sources {
			digest := ""
			if b := p.attached.bundleOf(s); b != nil {
				digest = b.Digest
			}
			fmt.Fprintf(sum, "%s %s %s\n", s.ref, s.path, digest) //nolint:errcheck // a hash takes everything
		}
		p.digest = hex.EncodeToString(sum.Sum(nil))
	}
	return p
}

// inRego evaluates the rules from a source: what they deny, or what they warn of. An error of both is
// reported once.
func inRego(a *attachment, s *source, warnings bool) custom {
	return func(ctx context.Context, f *facts.Document, now time.Time) (rules.Result, string) {
		evaluator := a.by(ctx)
		if evaluator == nil {
			if warnings {
				return rules.Result{}, ""
			}
			return rules.Result{}, "rules in Rego are only evaluated by a server"
		}
		if ctx.Err() != nil {
			if warnings {
				return rules.Result{}, ""
			}
			return overBudget(ctx, now)
		}
		outcome := evaluator.evaluate(ctx, a.bundleOf(s), s, f, now)
		if outcome.err != nil {
			switch {
			case warnings:
				return rules.Result{}, ""
			case ctx.Err() != nil:
				return overBudget(ctx, now)
			}
			// Another attempt may end in time.
			return rules.Result{RetryAt: now.Add(clockValidity)}, outcome.err.Error()
		}
		list, omitted := outcome.found.Denied, outcome.found.DeniedOmitted
		if warnings {
			list, omitted = outcome.found.Warned, outcome.found.WarnedOmitted
		}
		result := rules.Result{Omitted: omitted}
		for _, one := range list {
			result.Findings = append(result.Findings, rules.Finding{Address: one.Address, Message: one.Message})
		}
		if outcome.clock {
			// Nobody knows when they would say something else.
			result.ValidUntil = now.Add(clockValidity)
			if len(list) > 0 {
				result.RetryAt = result.ValidUntil
			}
		}
		return result, ""
	}
}

// clockValidity is how long the findings of rules hold that read the time, and errors.
const clockValidity = 5 * time.Minute
