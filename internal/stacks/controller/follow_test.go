// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/moving"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/stacks/decide"
	"github.com/yuba-dev/yuba/internal/stacks/reads"
	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

func webhooks(hooks ...infrav1.Webhook) func(*infrav1.Terraform) {
	return func(t *infrav1.Terraform) { t.Spec.Webhooks = hooks }
}

func TestRequestedResults(t *testing.T) {
	hook := infrav1.Webhook{Stage: infrav1.WebhookPostPlanning}
	off := infrav1.Webhook{Stage: infrav1.WebhookPostPlanning, Enabled: ptr.To(false)}
	form := func(f string) func(*infrav1.Terraform) {
		return func(t *infrav1.Terraform) { t.Spec.StoreReadablePlan = f }
	}
	inventory := func(t *infrav1.Terraform) { t.Spec.EnableInventory = true }
	adopted := func(t *infrav1.Terraform) { t.Status.LastAppliedRevision = revision }
	known := func(t *infrav1.Terraform) { adopted(t); t.Status.OutputsDigest = "sha256:o" }
	listed := func(t *infrav1.Terraform) { known(t); inventory(t); t.Status.Inventory = &infrav1.ResourceInventory{} }
	for sentence, test := range map[string]struct {
		change []func(*infrav1.Terraform)
		opaque bool // only the tool can read the state
		quiet  bool
		want   run.Spec
	}{
		"nothing":             {},
		"the plan's text":     {change: []func(*infrav1.Terraform){form("human")}, want: run.Spec{PlanText: true, Describe: true}},
		"the plan's document": {change: []func(*infrav1.Terraform){form("json")}, want: run.Spec{PlanDocument: true, Describe: true}},
		"a review":            {change: []func(*infrav1.Terraform){webhooks(off, hook)}, want: run.Spec{Review: true, PlanDocument: true, Describe: true}},
		"a webhook that is switched off does not review": {change: []func(*infrav1.Terraform){webhooks(off)}},
		"no inventory if the server can read the state":  {change: []func(*infrav1.Terraform){inventory}},
		"outputs even without changes":                   {opaque: true, want: run.Spec{ReadOutputs: true, ReadUnchanged: true}},
		"outputs of an adopted stack":                    {change: []func(*infrav1.Terraform){adopted}, opaque: true, want: run.Spec{ReadOutputs: true, ReadUnchanged: true}},
		"an unannounced drift check does not read unchanged outputs": {change: []func(*infrav1.Terraform){adopted}, opaque: true, quiet: true,
			want: run.Spec{ReadOutputs: true}},
		"known outputs only after an apply": {change: []func(*infrav1.Terraform){known}, opaque: true, want: run.Spec{ReadOutputs: true}},
		"a missing inventory": {change: []func(*infrav1.Terraform){known, inventory}, opaque: true, quiet: true,
			want: run.Spec{ReadOutputs: true, ReadResources: true, ReadUnchanged: true}},
		"an inventory": {change: []func(*infrav1.Terraform){listed}, opaque: true, want: run.Spec{ReadOutputs: true, ReadResources: true}},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := run.Spec{ReadOutputs: test.opaque}
			askFor(&s, stackObject(test.change...), !test.quiet)
			if diff := cmp.Diff(test.want, s); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestInventoryIsLimited(t *testing.T) {
	p := passOver(stackObject())
	p.config = &reads.Configuration{}
	p.setInventory([]run.Resource{{Name: "a", Type: "t", ID: "1"}, {Name: "b", Type: "t"}})
	want := []infrav1.ResourceRef{{Name: "a", Type: "t", Identifier: "1"}, {Name: "b", Type: "t"}}
	if diff := cmp.Diff(want, p.obj.Status.Inventory.Entries); diff != "" || p.inventoryWarnings() != nil {
		t.Errorf("warnings %q (-want +got):\n%s", p.inventoryWarnings(), diff)
	}
	many := make([]run.Resource, 20_000)
	for i := range many {
		many[i] = run.Resource{Name: fmt.Sprintf("n%d", i), Type: "terraform_data", ID: strings.Repeat("x", 36)}
	}
	p.setInventory(many)
	p.describeAs(decide.Decision{Verb: decide.VerbRest})
	entries := len(p.obj.Status.Inventory.Entries)
	warning := fmt.Sprintf("status.inventory lists the first %d of 20000 resources; `yuba state list vpc -n team` lists all", entries)
	if diff := cmp.Diff([]string{warning}, p.obj.Status.Warnings); diff != "" || entries < 1000 || entries > 10_000 {
		t.Errorf("%d entries (-want +got):\n%s", entries, diff)
	}
	// A pass that does not read the state keeps the warning; one that lists all removes it.
	for i, config := range []*reads.Configuration{{}, nil} {
		p = passOver(p.obj)
		p.config = config
		p.facts = decide.Facts{Source: decide.Source{Ready: true}}
		if p.describeAs(decide.Decision{Verb: decide.VerbRest}); len(p.obj.Status.Warnings) != 1 || len(p.notes) != 0 {
			t.Errorf("pass %d: %q, events %v", i, p.obj.Status.Warnings, p.notes)
		}
	}
	p = passOver(p.obj)
	p.config = &reads.Configuration{}
	p.setInventory(nil)
	if p.describeAs(decide.Decision{Verb: decide.VerbRest}); len(p.obj.Status.Warnings) != 0 || p.obj.Status.Inventory.Entries == nil {
		t.Errorf("%q, %+v", p.obj.Status.Warnings, p.obj.Status.Inventory)
	}
}

func TestInventoryListsOnlyManagedResources(t *testing.T) {
	got := managed(&statefile.File{Resources: []statefile.Resource{
		{Mode: "managed", Type: "t", Name: "a", Attributes: []byte(`{"id":"i-1","arn":"arn:1"}`)},
		{Mode: "data", Type: "t", Name: "b", Attributes: []byte(`{"id":"i-2"}`)},
		{Mode: "managed", Type: "t", Name: "c", Attributes: []byte(`{"id":"i-3"}`), SensitivePaths: [][]string{{"id"}}}}})
	if diff := cmp.Diff([]run.Resource{{Name: "a", Type: "t", ID: "arn:1"}, {Name: "c", Type: "t"}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOutputsDigest(t *testing.T) {
	digest := func(text string, change ...func(*infrav1.Terraform)) string {
		outputs, err := statefile.ParsePrinted([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return outputsDigest(stackObject(change...), outputs)
	}
	const text = `{"a": {"value": "x", "type": "string"}, "b": {"value": [1], "type": ["list", "number"]}}`
	before := digest(text)
	for sentence, test := range map[string]struct {
		other string
		moves bool
	}{
		"the same":                    {text, false},
		"the same in another order":   {`{"b": {"value": [1], "type": ["list", "number"]}, "a": {"value": "x", "type": "string"}}`, false},
		"another value":               {strings.Replace(text, `"x"`, `"y"`, 1), true},
		"another type":                {strings.Replace(text, `"list"`, `"set"`, 1), true},
		"another name":                {strings.Replace(text, `"a"`, `"c"`, 1), true},
		"a missing output":            {`{"a": {"value": "x", "type": "string"}}`, true},
		"none":                        {`{}`, true},
		"a list replaced by its text": {`{"a": {"value": "x", "type": "string"}, "b": {"value": "[1]", "type": "string"}}`, true},
	} {
		if moved := digest(test.other) != before; moved != test.moves {
			t.Errorf("%s: it moves: %v", sentence, moved)
		}
	}
	if digest(text, func(t *infrav1.Terraform) { t.UID = "uid-2" }) == before {
		t.Error("two stacks with the same outputs have the same digest")
	}
}

// A Reconciler without clients cannot read or write anything.
func TestNothingFollowsTheStateOfAStackThatMoves(t *testing.T) {
	p := passOver(stackObject(func(t *infrav1.Terraform) {
		t.Annotations = map[string]string{moving.AnnotationArriving: moving.Mark{Move: "m"}.Text()}
		t.Spec.WriteOutputsToSecret = &infrav1.WriteOutputsToSecretSpec{Name: "out"}
		t.Status.LastAppliedRevision = "main@sha1:1"
	}))
	p.facts.Stack.Moved = movedFacts(p.obj)
	if err := (&Reconciler{}).follow(t.Context(), p); err != nil {
		t.Error(err)
	}
	if p.obj.Status.OutputsSecret != "" {
		t.Errorf("it wrote %s", p.obj.Status.OutputsSecret)
	}
}
