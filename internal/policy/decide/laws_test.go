// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"math/rand"
	"reflect"
	"slices"
	"testing"
	"time"
)

func pick[T any](r *rand.Rand, from ...T) T { return from[r.Intn(len(from))] }

func randomPolicy(r *rand.Rand, name string) Policy {
	p := Policy{Name: name, Audit: r.Intn(4) == 0, AutoApprove: r.Intn(2) == 0, OnViolation: pick(r, EffectDeny, EffectWarn, EffectRequireApproval, "", "odd"),
		Approvals: Requirement{Count: r.Intn(3), Groups: pick(r, nil, []string{"sre"}, []string{"dba", "sre"}), NotAuthor: r.Intn(2) == 0, Owners: r.Intn(3) == 0,
			OwnersOf: pick(r, nil, []Owners{{Groups: []string{"sre"}}}, []Owners{{Users: []string{"cat"}}, {Groups: []string{"dba"}}}), OwnersUnknown: pick(r, "", "", "", "gone")}}
	if r.Intn(8) == 0 {
		p.Problem = "gone"
	}
	for i := range r.Intn(3) {
		rule := Rule{Name: fmt.Sprint("rule", i), Effect: pick(r, "", "", EffectDeny, EffectWarn, EffectRequireApproval), Omitted: pick(r, 0, 0, 0, 0, 3)}
		for range pick(r, 0, 0, 1, 2) {
			rule.Findings = append(rule.Findings, destroys(pick(r, "a", "b", "c")))
		}
		if r.Intn(8) == 0 {
			rule.Problem = "timeout"
		}
		rule.ValidUntil = pick(r, time.Time{}, time.Time{}, now.Add(time.Hour), now.Add(-time.Hour))
		p.Rules = append(p.Rules, rule)
	}
	for range r.Intn(3) {
		p.Exemptions = append(p.Exemptions, Exemption{Rules: pick(r, nil, []string{"rule0"}), Addresses: pick(r, nil, []string{"a"}, []string{"b", "*"}),
			Reason: pick(r, "migration", "migration", ""), Expires: now.Add(time.Duration(r.Intn(5)-1) * time.Hour)})
	}
	return p
}

func randomFacts(r *rand.Rand) Facts {
	f := Facts{Now: now, Bound: bound, FreedByMode: r.Intn(4) == 0, Authors: pick(r, nil, []string{"ann"}, []string{"bob", "ann"}),
		Never:    pick(r, nil, nil, nil, []string{"partial"}),
		Problems: pick(r, nil, nil, nil, nil, nil, []string{"no list"})}
	f.AuthorsUnknown = pick(r, "", "", "the object has changed")
	for i := range r.Intn(4) {
		f.Policies = append(f.Policies, randomPolicy(r, fmt.Sprint("Policy/x/", i)))
	}
	for range r.Intn(5) {
		a := by(pick(r, "ann", "bob", "cat", "dan"), pick(r, "sre", "dba", "dev"))
		a.Bound = pick(r, a.Bound, a.Bound, a.Bound, "sha256:other")
		f.Approvals = append(f.Approvals, a)
	}
	return f
}

func strictness(o Outcome) int {
	return slices.Index([]Outcome{OutcomeApply, OutcomeWait, OutcomeRefuse}, o)
}

func TestLaws(t *testing.T) {
	seen := map[Outcome]int{}
	for seed := range 10_000 {
		r := rand.New(rand.NewSource(int64(seed)))
		f := randomFacts(r)
		d := Decide(f)
		seen[d.Outcome]++
		for law, broken := range laws(r, f, d) {
			if broken != "" {
				t.Fatalf("seed %d: %s: %s\nfacts %+v\ndecision %+v", seed, law, broken, f, d)
			}
		}
	}
	for _, o := range []Outcome{OutcomeApply, OutcomeWait, OutcomeRefuse} {
		if seen[o] < 300 {
			t.Errorf("the random facts lead to %s only %d times", o, seen[o])
		}
	}
}

func laws(r *rand.Rand, f Facts, d Decision) map[string]string {
	broken := map[string]string{}
	fail := func(law, format string, args ...any) { broken[law] = fmt.Sprintf(format, args...) }

	if d.Outcome == OutcomeApply && slices.ContainsFunc(d.Violations, func(v Violation) bool { return v.Effect == EffectDeny }) {
		fail("nothing denied is applied", "it is")
	}
	if d.Outcome == OutcomeApply && len(d.Violations) > 0 && len(d.Approvers) == 0 {
		fail("nothing with violations is applied without approval", "it is")
	}
	if d.Outcome == OutcomeApply && len(d.Approvers) == 0 && len(d.FreedBy) == 0 && !f.FreedByMode {
		fail("nothing is applied that nobody freed", "it is")
	}
	if d.Outcome == OutcomeApply && len(f.Problems) > 0 {
		fail("failures are closed", "it is applied")
	}
	if (d.Outcome == OutcomeWait) != (len(d.Missing) > 0) {
		fail("who waits knows for what", "%v", d.Missing)
	}

	without := f
	without.Policies = slices.DeleteFunc(slices.Clone(f.Policies), func(p Policy) bool { return p.Audit })
	if got := Decide(without); got.Outcome != d.Outcome || got.Message != d.Message || !reflect.DeepEqual(got.Violations, d.Violations) {
		fail("audit changes nothing", "without it: %+v", got)
	}

	more, added := f, randomPolicy(r, "Policy/x/new")
	more.Policies = append(slices.Clone(f.Policies), added)
	got := Decide(more)
	held := d.Outcome == OutcomeRefuse || len(d.Violations) > 0 || len(f.Never) > 0 || !added.AutoApprove
	if held && strictness(got.Outcome) < strictness(d.Outcome) {
		fail("adding a policy never frees", "%+v: %+v", added, got)
	}

	less := f
	less.Policies = slices.Clone(f.Policies)
	for i := range less.Policies {
		if n := len(less.Policies[i].Exemptions); n > 0 {
			at := r.Intn(n)
			less.Policies[i].Exemptions = slices.Delete(slices.Clone(less.Policies[i].Exemptions), at, at+1)
		}
	}
	if got := Decide(less); strictness(got.Outcome) < strictness(d.Outcome) {
		fail("removing an exemption never frees", "%+v", got)
	}

	unapproved := f
	unapproved.Approvals = nil
	if got := Decide(unapproved); strictness(got.Outcome) < strictness(d.Outcome) || d.Outcome == OutcomeRefuse && got.Outcome != OutcomeRefuse {
		fail("approvals only free, and never what is refused", "%+v", got)
	}
	doubtful := f
	doubtful.AuthorsUnknown = "the object has changed"
	if got := Decide(doubtful); strictness(got.Outcome) < strictness(d.Outcome) {
		fail("an unknown author never frees", "%+v", got)
	}
	other := f
	other.Bound.Plan = "sha256:changed"
	if got := Decide(other); len(got.Approvers) > 0 {
		fail("approvals are for their plan only", "%+v", got)
	}

	shuffled := f
	shuffled.Policies = slices.Clone(f.Policies)
	r.Shuffle(len(shuffled.Policies), func(i, j int) {
		shuffled.Policies[i], shuffled.Policies[j] = shuffled.Policies[j], shuffled.Policies[i]
	})
	if got := Decide(shuffled); !reflect.DeepEqual(got, d) {
		fail("order does not matter", "%+v", got)
	}

	if !d.ValidUntil.IsZero() {
		if !d.ValidUntil.After(f.Now) {
			fail("a decision holds for some time", "until %s", d.ValidUntil)
		}
		before := f
		before.Now = d.ValidUntil.Add(-time.Nanosecond)
		if got := Decide(before); got.Outcome != d.Outcome {
			fail("a decision holds as long as it says", "%+v", got)
		}
	} else {
		years := f
		years.Now = f.Now.AddDate(10, 0, 0)
		if got := Decide(years); got.Outcome != d.Outcome {
			fail("a decision without an end stays", "%+v", got)
		}
	}
	return broken
}
