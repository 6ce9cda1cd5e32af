// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
)

// planned are output_changes with one output, base.
func planned(after, unknown string) map[string]json.RawMessage {
	return map[string]json.RawMessage{"base": json.RawMessage(`{"actions":["update"],"after":` + after + `,"after_unknown":` + unknown + `}`)}
}

func (w *world) judge(t testing.TB, changes map[string]json.RawMessage, destroy bool) infrav1.ContractVerdict {
	t.Helper()
	verdicts, err := w.Judge(t.Context(), w.get(t, in("prod", "network")), changes, destroy)
	if err != nil {
		t.Fatal(err)
	}
	if len(verdicts) != 1 {
		t.Fatalf("there are %d verdicts", len(verdicts))
	}
	return verdicts[0]
}

func TestVerdicts(t *testing.T) {
	w := newWorld(t, contract("base", "1.2.0", baseType), stack("network", publishing("base", "1.2.0", "base")),
		stack("cluster", consuming("base", "~> 1.2", "network")), stack("dns", consuming("base", "~> 1.2", "network")),
		stack("misfit", consuming("base", "~> 1.2", "network")), stack("new", consuming("base", "~> 1.2", "network", func(c *infrav1.Consumption) { c.Reads = []string{"subnets"} })))
	w.publish(t, "network", object(baseOutput, published1))
	w.consume(t, in("prod", "cluster"), map[string]string{"base": "object({vpc_id = string})"})
	w.consume(t, in("prod", "dns"), map[string]string{"base": "object({subnets = list(string)})"})
	w.consume(t, in("prod", "misfit"), map[string]string{"base": "object({vpc_id = number})"})
	for sentence, test := range map[string]struct {
		changes map[string]json.RawMessage
		destroy bool
		want    infrav1.ContractOutcome
		broken  string
	}{
		"it fits":                          {planned(published1, "false"), false, infrav1.ContractFits, ""},
		"an attribute is missing":          {planned(`{"subnets":[]}`, "false"), false, infrav1.ContractBreaks, "prod/cluster base.vpc_id is missing (string)"},
		"another type":                     {planned(`{"vpc_id":"a","subnets":"a"}`, "false"), false, infrav1.ContractBreaks, "prod/dns base.subnets is string, not list; prod/new base.subnets is string, not list"},
		"it is null":                       {planned(`{"vpc_id":null,"subnets":[]}`, "false"), false, infrav1.ContractBreaks, "prod/cluster base.vpc_id is null (string is required)"},
		"the output is gone":               {nil, false, infrav1.ContractBreaks, "prod/cluster base is not an output any more; prod/dns base is not an output any more; prod/new base is not an output any more"},
		"it is unknown until the apply":    {planned(`{"subnets":[]}`, `{"vpc_id":true}`), false, infrav1.ContractUnknown, ""},
		"everything is destroyed":          {nil, true, infrav1.ContractBreaks, "prod/cluster base the stack does not publish any more in the versions ~> 1.2; prod/dns base the stack does not publish any more in the versions ~> 1.2; prod/new base the stack does not publish any more in the versions ~> 1.2"},
		"nobody reads what is null":        {planned(`{"vpc_id":"a","subnets":[],"note":null}`, "false"), false, infrav1.ContractFits, ""},
		"unknown, and broken beside it":    {planned(`{"subnets":1}`, `{"vpc_id":true}`), false, infrav1.ContractBreaks, "prod/dns base.subnets is number, not list; prod/new base.subnets is number, not list"},
		"more than the contract has is ok": {planned(`{"vpc_id":"a","subnets":[],"extra":1}`, "false"), false, infrav1.ContractFits, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			v := w.judge(t, test.changes, test.destroy)
			var broken []string
			for _, h := range v.Broken {
				broken = append(broken, h.Consumer+" "+h.Path+" "+h.Says)
			}
			if v.Outcome != test.want || strings.Join(broken, "; ") != test.broken {
				t.Errorf("%s: %s\n%s", v.Outcome, strings.Join(broken, "; "), v.Message)
			}
		})
	}
}

func TestTheSetChangesWithWhatCounts(t *testing.T) {
	w := newWorld(t, contract("base", "1.2.0", baseType), stack("network", publishing("base", "1.2.0", "base")), stack("cluster", consuming("base", "~> 1.2", "network")))
	w.publish(t, "network", object(baseOutput, published1))
	set := func() string {
		t.Helper()
		s, err := w.Set(t.Context(), w.get(t, in("prod", "network")))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	first := set()
	w.publish(t, "network", object(baseOutput, `{"vpc_id":"vpc-2","subnets":[]}`))
	if set() != first {
		t.Error("a value has no influence, but the set has changed")
	}
	w.consume(t, in("prod", "cluster"), map[string]string{"base": "object({vpc_id = string})"})
	second := set()
	if second == first {
		t.Error("a consumer declared what it reads, and the set is the same")
	}
	c := contract("base")
	if err := w.client.Get(t.Context(), in("prod", "base"), c); err != nil {
		t.Fatal(err)
	}
	c.Status.Versions[0].Validations = []yubav1.ContractValidation{{Rule: "self.subnets.size() > 0"}}
	if err := w.client.Status().Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if set() == second {
		t.Error("the contract has changed, and the set is the same")
	}
	if v := w.judge(t, planned(`{"vpc_id":"a","subnets":[]}`, "false"), false); v.Outcome != infrav1.ContractBreaks || !strings.Contains(v.Message, "self.subnets.size() > 0") {
		t.Errorf("a validation is not evaluated: %+v", v)
	}
}

// indexed answers from its index without copies, as the cache of a server does.
type indexed struct {
	client.Reader
	stacks []infrav1.Terraform
}

func (c indexed) List(ctx context.Context, into client.ObjectList, o ...client.ListOption) error {
	if list, ok := into.(*infrav1.TerraformList); ok {
		list.Items = slices.Clone(c.stacks)
		return nil
	}
	return c.Reader.List(ctx, into, o...)
}

// fleet is a producer with consumers whose declarations are in their statuses.
func fleet(t testing.TB, consumers int) *world {
	w := newWorld(t, contract("base", "1.2.0", baseType), stack("network", publishing("base", "1.2.0", "base")))
	w.publish(t, "network", object(baseOutput, published1))
	var stacks []infrav1.Terraform
	for i := range consumers {
		s := stack(fmt.Sprintf("stack-%04d", i), consuming("base", "~> 1.0", "network"))
		s.Status.Contracts = &infrav1.ContractsStatus{Consumes: []infrav1.ConsumedContract{{As: "base", Contract: "base", From: "prod/network", Version: "~> 1.0",
			Type: fmt.Sprintf("object({vpc_id = string, note = optional(string, %q)})", s.Name), Reads: []string{"note", "vpc_id"}, Nullable: true}}}
		stacks = append(stacks, *s)
	}
	w.Cache = indexed{w.client, stacks}
	return w
}

func TestAVerdictOfAThousandConsumersListsTheFirst(t *testing.T) {
	w := fleet(t, 1000)
	v := w.judge(t, planned(`{"subnets":[]}`, "false"), false)
	if v.BrokenConsumers != 1000 || len(v.Broken) != maxBroken {
		t.Errorf("%d consumers break, and %d are listed", v.BrokenConsumers, len(v.Broken))
	}
}

func BenchmarkVerdict(b *testing.B) {
	w := fleet(b, 1000)
	b.ReportAllocs()
	for b.Loop() {
		w.judge(b, planned(`{"subnets":[]}`, "false"), false)
	}
}
