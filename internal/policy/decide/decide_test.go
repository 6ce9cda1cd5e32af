// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"strings"
	"testing"
	"time"
)

var now = time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)

var bound = Bound{Stack: "team-a/vpc", Plan: "sha256:1"}

func destroys(address string) Finding {
	return Finding{Rule: "no-destroy", Address: address, Message: "would be destroyed"}
}

func safe(change ...func(*Policy)) Policy {
	p := Policy{Name: "ClusterPolicy/safe", AutoApprove: true, OnViolation: EffectRequireApproval, Rules: []Rule{{Name: "no-destroy"}}}
	for _, c := range change {
		c(&p)
	}
	return p
}

func found(f ...Finding) func(*Policy) { return func(p *Policy) { p.Rules[0].Findings = f } }
func effect(e Effect) func(*Policy)    { return func(p *Policy) { p.OnViolation = e } }
func audit(p *Policy)                  { p.Audit = true }
func asking(r Requirement) func(*Policy) {
	return func(p *Policy) { p.Approvals = r }
}
func exempt(e Exemption) func(*Policy) {
	return func(p *Policy) { p.Exemptions = append(p.Exemptions, e) }
}
func by(user string, groups ...string) Approval {
	return Approval{User: user, Groups: groups, Bound: bound.Hash(), At: now.Add(-time.Minute)}
}

var netTeam = []Owners{{Names: []string{"net-team", "cat"}, Users: []string{"cat"}, Groups: []string{"net-team"}}}

func TestDecide(t *testing.T) {
	later := now.Add(time.Hour)
	for sentence, c := range map[string]struct {
		facts Facts
		want  Outcome
		why   string
		says  string
	}{
		"a plan without violations is freed by a policy": {
			Facts{Policies: []Policy{safe()}}, OutcomeApply, ReasonFreed, "No policy has objections"},
		"without any policy, a person approves": {
			Facts{}, OutcomeWait, ReasonNotFreed, "Waiting for an approval"},
		"a stack with mode auto needs no policy that frees": {
			Facts{FreedByMode: true, Policies: []Policy{safe(func(p *Policy) { p.AutoApprove = false })}}, OutcomeApply, ReasonFreed, ""},
		"a policy binds a stack with mode auto, too": {
			Facts{FreedByMode: true, Policies: []Policy{safe(found(destroys("a.b")))}}, OutcomeWait, ReasonViolated, "ClusterPolicy/safe: no-destroy: a.b: would be destroyed. Waiting for an approval"},
		"a violation waits for people": {
			Facts{Policies: []Policy{safe(found(destroys("a.b"), destroys("a.c")))}}, OutcomeWait, ReasonViolated, "(and 1 more)"},
		"a warning waits for a person": {
			Facts{Policies: []Policy{safe(found(destroys("a.b")), effect(EffectWarn))}}, OutcomeWait, ReasonViolated, ""},
		"what is denied cannot be approved": {
			Facts{Policies: []Policy{safe(found(destroys("a.b")), effect(EffectDeny))}, Approvals: []Approval{by("ann"), by("bob")}}, OutcomeRefuse, ReasonDenied, "Denied by ClusterPolicy/safe"},
		"an effect that is unknown denies": {
			Facts{Policies: []Policy{safe(found(destroys("a.b")), effect("advise"))}}, OutcomeRefuse, ReasonDenied, ""},
		"a policy in audit mode records": {
			Facts{Policies: []Policy{safe(), safe(audit, found(destroys("a.b")), effect(EffectDeny))}}, OutcomeApply, ReasonFreed, ""},
		"a policy in audit mode frees nothing": {
			Facts{Policies: []Policy{safe(audit)}}, OutcomeWait, ReasonNotFreed, ""},
		"a rule that fails frees nothing": {
			Facts{Policies: []Policy{safe(func(p *Policy) { p.Rules[0].Problem = "the bundle is gone" })}}, OutcomeWait, ReasonFailed, "the bundle is gone"},
		"a result that is too old frees nothing": {
			Facts{Policies: []Policy{safe(func(p *Policy) { p.Rules[0].ValidUntil = now })}}, OutcomeWait, ReasonFailed, "evaluated again"},
		"without the list of policies nothing is applied": {
			Facts{FreedByMode: true, Problems: []string{"list policies: timeout"}, Approvals: []Approval{by("ann")}}, OutcomeRefuse, ReasonFailed, "list policies: timeout"},
		"two approvals are two people": {
			Facts{Policies: []Policy{safe(found(destroys("a.b")), asking(Requirement{Count: 2}))}, Approvals: []Approval{by("ann"), by("Ann")}}, OutcomeWait, ReasonViolated, "1 of 2 approvals"},
		"two people approve": {
			Facts{Policies: []Policy{safe(found(destroys("a.b")), asking(Requirement{Count: 2}))}, Approvals: []Approval{by("ann"), by("bob")}}, OutcomeApply, ReasonApproved, "ann, bob"},
		"only members of the groups count": {
			Facts{Policies: []Policy{safe(found(destroys("a.b")), asking(Requirement{Groups: []string{"sre", "dba"}}))}, Approvals: []Approval{by("ann", "dev")}}, OutcomeWait, ReasonViolated, "by sre or dba"},
		"a member approves": {
			Facts{Policies: []Policy{safe(found(destroys("a.b")), asking(Requirement{Groups: []string{"sre", "dba"}}))}, Approvals: []Approval{by("ann", "dev", "dba")}}, OutcomeApply, ReasonApproved, ""},
		"the author does not approve": {
			Facts{Authors: []string{"ann"}, Policies: []Policy{safe(found(destroys("a.b")), asking(Requirement{NotAuthor: true}))}, Approvals: []Approval{by("ANN")}}, OutcomeWait, ReasonViolated, "not by the change's author"},
		"the account of a person may be that of the author, who is known by an e-mail address": {
			Facts{Authors: []string{"ann@example.org"}, Policies: []Policy{safe(found(destroys("a.b")), asking(Requirement{Count: 1, NotAuthor: true}))}, Approvals: []Approval{by("ann")}}, OutcomeWait, ReasonViolated, "not by the change's author"},
		"of two accounts, one is not that of the author": {
			Facts{Authors: []string{"ann@example.org", "Ann@example.org"}, Policies: []Policy{safe(found(destroys("a.b")), asking(Requirement{Count: 1, NotAuthor: true}))}, Approvals: []Approval{by("ann"), by("bob")}}, OutcomeApply, ReasonApproved, ""},
		"e-mail addresses are compared": {
			Facts{Authors: []string{"ann@example.org"}, Policies: []Policy{safe(found(destroys("a.b")), asking(Requirement{Count: 1, NotAuthor: true}))}, Approvals: []Approval{by("bob@example.org")}}, OutcomeApply, ReasonApproved, ""},
		"another author and an account are one person at least": {
			Facts{Authors: []string{"ann@example.org"}, Policies: []Policy{safe(found(destroys("a.b")), asking(Requirement{Count: 2, NotAuthor: true}))}, Approvals: []Approval{by("bob@example.org"), by("ann")}}, OutcomeWait, ReasonViolated, "1 of 2"},
		"of an unknown author, two people are one too many": {
			Facts{Policies: []Policy{safe(found(destroys("a.b")), asking(Requirement{NotAuthor: true}))}, Approvals: []Approval{by("ann")}}, OutcomeWait, ReasonViolated, "1 of 2"},
		"if somebody else may have changed it, one person is not enough": {
			Facts{Authors: []string{"bob"}, AuthorsUnknown: "the object has changed", Policies: []Policy{safe(found(destroys("a.b")), asking(Requirement{NotAuthor: true}))}, Approvals: []Approval{by("ann")}},
			OutcomeWait, ReasonViolated, "1 of 2 approvals, not by the change's author (one more than usual, because the object has changed)"},
		"and its known author is none of the two": {
			Facts{Authors: []string{"bob"}, AuthorsUnknown: "the object has changed", Policies: []Policy{safe(found(destroys("a.b")), asking(Requirement{NotAuthor: true}))}, Approvals: []Approval{by("ann"), by("bob")}},
			OutcomeWait, ReasonViolated, "1 of 2"},
		"two others are enough": {
			Facts{Authors: []string{"bob"}, AuthorsUnknown: "the object has changed", Policies: []Policy{safe(found(destroys("a.b")), asking(Requirement{NotAuthor: true}))}, Approvals: []Approval{by("ann"), by("cat")}},
			OutcomeApply, ReasonApproved, ""},
		"an owner must approve": {
			Facts{Policies: []Policy{safe(found(destroys("a.b")), asking(Requirement{Owners: true, OwnersOf: netTeam}))}, Approvals: []Approval{by("ann")}}, OutcomeWait, ReasonViolated, "net-team or cat"},
		"an owner approves": {
			Facts{Policies: []Policy{safe(found(destroys("a.b")), asking(Requirement{Owners: true, OwnersOf: netTeam}))}, Approvals: []Approval{by("ann", "net-team")}}, OutcomeApply, ReasonApproved, ""},
		"owners that are not known do not approve": {
			Facts{Policies: []Policy{safe(found(destroys("a.b")), asking(Requirement{Owners: true, OwnersUnknown: "CODEOWNERS cannot be read"}))}, Approvals: []Approval{by("ann")}}, OutcomeWait, ReasonViolated, "CODEOWNERS cannot be read"},
		"an approval of another plan does not count": {
			Facts{Approvals: []Approval{{User: "ann", Bound: Bound{Plan: "sha256:2"}.Hash(), At: now}}}, OutcomeWait, ReasonNotFreed, ""},
		"an approval from the future does not count": {
			Facts{Approvals: []Approval{{User: "ann", Bound: bound.Hash(), At: later}}}, OutcomeWait, ReasonNotFreed, ""},
		"an approval of this plan counts": {
			Facts{Approvals: []Approval{by("ann")}}, OutcomeApply, ReasonApproved, ""},
		"a partial plan waits for a person": {
			Facts{FreedByMode: true, Never: []string{"it has targets"}}, OutcomeWait, ReasonPartial, "it has targets"},
		"an exemption takes a finding out": {
			Facts{Policies: []Policy{safe(found(destroys(`m.x["a"].b`)), exempt(Exemption{Rules: []string{"no-destroy"}, Addresses: []string{`m.x["*"].b`}, Reason: "migration", Expires: later}))}}, OutcomeApply, ReasonFreed, ""},
		"an exemption of another address does not": {
			Facts{Policies: []Policy{safe(found(destroys("a.b"), destroys("a.c")), exempt(Exemption{Addresses: []string{"a.b"}, Reason: "migration", Expires: later}))}}, OutcomeWait, ReasonViolated, "a.c"},
		"an exemption of another rule does not": {
			Facts{Policies: []Policy{safe(found(destroys("a.b")), exempt(Exemption{Rules: []string{"no-iam"}, Reason: "migration", Expires: later}))}}, OutcomeWait, ReasonViolated, ""},
		"an exemption expires": {
			Facts{Policies: []Policy{safe(found(destroys("a.b")), exempt(Exemption{Reason: "migration", Expires: now}))}}, OutcomeWait, ReasonViolated, ""},
		"an exemption has a reason": {
			Facts{Policies: []Policy{safe(found(destroys("a.b")), exempt(Exemption{Expires: later}))}}, OutcomeWait, ReasonViolated, ""},
		"findings that are not listed are not exempt by address": {
			Facts{Policies: []Policy{safe(found(destroys("a.b")), func(p *Policy) { p.Rules[0].Omitted = 7 }, exempt(Exemption{Addresses: []string{"*"}, Reason: "migration", Expires: later}))}}, OutcomeWait, ReasonViolated, "7 more findings"},
		"the effect of a rule comes before the policy's": {
			Facts{Policies: []Policy{safe(found(destroys("a.b")), func(p *Policy) { p.Rules[0].Effect = EffectDeny })}}, OutcomeRefuse, ReasonDenied, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			c.facts.Now, c.facts.Bound = now, bound
			d := Decide(c.facts)
			says := d.Message
			if d.WaitsFor != "" {
				says += ". Waiting for " + d.WaitsFor
			}
			if d.Outcome != c.want || d.Reason != c.why || !strings.Contains(says, c.says) {
				t.Errorf("got %s (%s): %s; want %s (%s): … %s", d.Outcome, d.Reason, says, c.want, c.why, c.says)
			}
		})
	}
}

func TestADecisionEndsWithItsExemptions(t *testing.T) {
	p := safe(found(destroys("a.b")), exempt(Exemption{Reason: "migration", Expires: now.Add(time.Hour)}))
	p.Rules = append(p.Rules, Rule{Name: "change-window", ValidUntil: now.Add(2 * time.Hour), RetryAt: now.Add(3 * time.Hour)})
	d := Decide(Facts{Now: now, Policies: []Policy{p}})
	if !d.ValidUntil.Equal(now.Add(time.Hour)) || !d.RetryAt.Equal(now.Add(3*time.Hour)) || len(d.Exempted) != 1 {
		t.Errorf("%+v", d)
	}
}

func TestTheHashCoversEverything(t *testing.T) {
	seen := map[string]int{}
	for i, b := range []Bound{
		{}, {Stack: "a"}, {UID: "a"}, {Stage: "a"}, {Plan: "a"}, {Facts: "a"}, {LockFile: "a"}, {Source: "a"}, {StateSerial: 1}, {StateLineage: "a"},
		{Policies: map[string]string{"a": "b"}}, {Policies: map[string]string{"a": ""}}, {Policies: map[string]string{"ab": ""}},
		{Bundles: map[string]string{"a": "b"}}, {Revisions: map[string]string{"a": "b"}}, {Stack: "a\xff"}, {Stack: "a\xfe"},
	} {
		h := b.Hash()
		if before, there := seen[h]; there {
			t.Errorf("%d and %d have the same hash", before, i)
		}
		seen[h] = i
	}
	if (Bound{Policies: map[string]string{}}).Hash() != (Bound{}).Hash() {
		t.Error("an empty map is not nil")
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"a.b", "a.b", true}, {"a.b", "a.bc", false}, {"*", "", true}, {"a.*", "a.b", true}, {"*.b", "a.b", true},
		{`m.x["*"].b`, `m.x["q]"].b`, true}, {"a*b*c", "a-b-b-c", true}, {"a*b", "ab", true}, {"ab*ba", "aba", false}, {"[ab]", "a", false},
	} {
		if got := Matches(c.pattern, c.text); got != c.want {
			t.Errorf("Matches(%q, %q) = %v", c.pattern, c.text, got)
		}
	}
}
