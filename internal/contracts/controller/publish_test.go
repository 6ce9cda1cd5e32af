// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strings"
	"testing"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
)

func numbers(list []infrav1.PublishedRevision) map[string]int64 {
	out := map[string]int64{}
	for _, r := range list {
		out[r.Version] = r.Number
	}
	return out
}

func TestWhatIsPublished(t *testing.T) {
	w := newWorld(t, contract("base", "1.2.0", baseType), stack("network", publishing("base", "1.2.0", "base")))
	first := w.publish(t, "network", object(baseOutput, published1))
	if len(first.New) != 1 || first.New[0].Number != 1 || first.New[0].Run != "run-1" || first.New[0].SourceRevision != "main@sha1:1" || first.Problem != "" {
		t.Fatalf("the first one: %+v", first)
	}
	// Equal values, however they are written, make no revision.
	if same := w.publish(t, "network", object(`["object",{"subnets":["tuple",["string","string"]],"vpc_id":"string"}]`, `{"subnets":["a","b"],"vpc_id":"vpc-1"}`)); len(same.New) != 0 || same.Revisions[0].Number != 1 {
		t.Errorf("the same value: %+v", same)
	}
	second := w.publish(t, "network", object(baseOutput, `{"vpc_id":"vpc-2","subnets":[]}`), func(a *Applied) { a.ApprovedBy = "ada, bob" })
	if len(second.New) != 1 || second.New[0].Number != 2 || second.New[0].ApprovedBy != "ada, bob" {
		t.Errorf("another value: %+v", second)
	}
	broken := w.publish(t, "network", object(`["object",{"subnets":["list","string"]}]`, `{"subnets":[]}`))
	if !strings.Contains(broken.Problem, "was not published, and consumers keep what they have: base.vpc_id is missing (string)") || numbers(broken.Revisions)["1.2.0"] != 2 {
		t.Errorf("a value that does not fit: %+v", broken)
	}
}

func TestVersionsSideBySide(t *testing.T) {
	w := newWorld(t, contract("base", "1.2.0", baseType, "2.0.0", "object({network = string})"),
		stack("network", publishing("base", "1.2.0", "base"), publishing("base", "2.0.0", "next")),
		stack("old", consuming("base", "~> 1.2", "network")), stack("eager", consuming("base", ">= 1.0", "network")))
	outputs := object(baseOutput, published1)
	w.publish(t, "network", outputs)
	w.consume(t, in("prod", "old"), map[string]string{"base": "object({vpc_id = string})"})
	w.consume(t, in("prod", "eager"), map[string]string{"base": "object({vpc_id = string})"})

	outputs["next"] = [2]string{`["object",{"network":"string"}]`, `{"network":"n"}`}
	p := w.publish(t, "network", outputs)
	if !strings.Contains(p.Problem, "contract base 2.0.0 was not published") || !strings.Contains(p.Problem, "prod/eager reads base.vpc_id") || strings.Contains(p.Problem, "prod/old") {
		t.Errorf("a version that a consumer would read and cannot: %+v", p)
	}
	p = w.publish(t, "network", outputs, func(a *Applied) { a.Approved = true })
	if p.Problem != "" || len(p.Revisions) != 2 {
		t.Errorf("a person approved it: %+v", p)
	}

	obj := w.get(t, in("prod", "network"))
	obj.Spec.Publishes = obj.Spec.Publishes[1:]
	if err := w.client.Update(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
	p = w.publish(t, "network", outputs)
	if !strings.Contains(p.Problem, "contract base 1.2.0 is not in spec.publishes any more, and is kept with its last value, because it is all that these stacks can read: prod/old") || len(p.Revisions) != 2 {
		t.Errorf("a version that is needed: %+v", p)
	}
	if needed, err := w.Needed(t.Context(), w.get(t, in("prod", "network"))); err != nil || len(needed) != 0 {
		t.Errorf("nobody has applied what it read: %v %v", needed, err)
	}
	old := w.get(t, in("prod", "old"))
	w.status(t, old, func(s *infrav1.TerraformStatus) {
		s.Contracts.Consumes[0].Read = &infrav1.ContractPin{Number: 1, Part: "sha256:1"}
	})
	if needed, err := w.Needed(t.Context(), w.get(t, in("prod", "network"))); err != nil || strings.Join(needed, " ") != "prod/old" {
		t.Errorf("it is needed by %v (%v)", needed, err)
	}
	p = w.publish(t, "network", nil, func(a *Applied) { a.Destroyed = true })
	if p.Problem != "" || len(p.Revisions) != 0 {
		t.Errorf("it was destroyed: %+v", p)
	}
	if c := w.consume(t, in("prod", "old"), map[string]string{"base": "object({vpc_id = string})"}); !strings.Contains(c.Waiting, "prod/network has not published contract base") {
		t.Errorf("a consumer of what is gone: %+v", c)
	}
}

func TestAVersionThatIsNotDeclared(t *testing.T) {
	w := newWorld(t, stack("network", publishing("base", "1.2.0", "base")))
	if v := w.judge(t, planned(published1, "false"), false); v.Outcome != infrav1.ContractBreaks || !strings.Contains(v.Message, "the Contract base has no version 1.2.0") {
		t.Errorf("the plan: %+v", v)
	}
	if p := w.publish(t, "network", object(baseOutput, published1)); len(p.Revisions) != 0 || !strings.Contains(p.Problem, "the Contract base has no version 1.2.0") {
		t.Errorf("the apply: %+v", p)
	}
}

// The versions of a contract are in its status. Its deletion forgets them, and not what was published.
func TestAContractThatIsDeletedAndDeclaredWithAnotherType(t *testing.T) {
	w := newWorld(t, contract("base", "1.2.0", baseType), stack("network", publishing("base", "1.2.0", "base")), stack("app", consuming("base", "~> 1.2", "network")))
	w.publish(t, "network", object(baseOutput, published1))
	variables := map[string]string{"base": "object({vpc_id = string})"}
	if c := w.consume(t, in("prod", "app"), variables); c.Waiting != "" || len(c.Values) != 1 {
		t.Fatalf("before: %+v", c)
	}
	redeclare := func(of string) {
		t.Helper()
		was := &yubav1.Contract{}
		if err := w.client.Get(t.Context(), in("prod", "base"), was); err != nil {
			t.Fatal(err)
		}
		if err := w.client.Delete(t.Context(), was); err != nil {
			t.Fatal(err)
		}
		again := contract("base", "1.2.0", of)
		again.SetUID("again-" + was.UID)
		if err := w.client.Create(t.Context(), again); err != nil {
			t.Fatal(err)
		}
	}
	redeclare("object({vpc_id = string, subnets = list(string), note = optional(number)})")
	const says = "contract base 1.2.0 was published with another type, and a version never changes"
	if c := w.consume(t, in("prod", "app"), variables); !strings.Contains(c.Waiting, says) || len(c.Values) != 0 {
		t.Errorf("a consumer: %+v", c)
	}
	if v := w.judge(t, planned(published1, "false"), false); v.Outcome != infrav1.ContractBreaks || !strings.Contains(v.Message, says) {
		t.Errorf("the plan: %+v", v)
	}
	if p := w.publish(t, "network", object(baseOutput, `{"vpc_id":"vpc-2","subnets":[]}`), func(a *Applied) { a.Approved = true }); !strings.Contains(p.Problem, says) || numbers(p.Revisions)["1.2.0"] != 1 {
		t.Errorf("the producer: %+v", p)
	}
	redeclare(baseType)
	if c := w.consume(t, in("prod", "app"), variables); c.Waiting != "" || len(c.Values) != 1 {
		t.Errorf("with its type again: %+v", c)
	}
}
