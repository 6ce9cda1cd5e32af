// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/tofu/state/moves"
)

// TestAStateOf2000ResourcesIsSplitIntoFive: four parts of 400 resources leave the state, with real tofu
// before and after. The limit of docs/benchmarks.md is ten seconds besides the plans.
func TestAStateOf2000ResourcesIsSplitIntoFive(t *testing.T) {
	y, ns := common(t)
	part := func(name string) string {
		return fmt.Sprintf("resource \"terraform_data\" %q {\n  count = 200\n  input = count.index\n}\nresource \"terraform_data\" \"%s_tail\" {\n  count = 200\n  input = terraform_data.%s[count.index].id\n}\n", name, name, name)
	}
	names := []string{"zero", "one", "two", "three", "four"}
	var whole strings.Builder
	for _, n := range names {
		whole.WriteString(part(n))
	}
	mono := inline(ns, "zero", whole.String(), auto)
	y.create(t, mono)
	y.awaitFor(t, mono, 5*time.Minute, "it is ready", ready)
	change(t, y, mono, pausedWith(part("zero")))
	var steps []moves.Step
	var text strings.Builder
	for _, n := range names[1:] {
		y.create(t, inline(ns, n, part(n), auto, suspended))
		for _, a := range []string{n, n + "_tail"} {
			address := "terraform_data." + a
			steps = append(steps, moves.Step{Verb: moves.Move, State: "zero", From: address, ToState: n, To: address})
		}
		fmt.Fprintf(&text, "move {\n  stack = \"zero\"\n  to_stack = %q\n  from = [terraform_data.%s, terraform_data.%s_tail]\n}\n", n, n, n)
	}
	out, news, code := y.runFor(t, 5*time.Minute, "", "refactor", file(t, text.String()), "-n", ns)
	if code != 0 || !strings.Contains(out, "2000 -> 400") {
		t.Fatalf("the preview ended with %d:\n%s%s", code, out, news)
	}
	c := y.content(t)
	began := time.Now()
	r, err := c.ProposeRefactoring(t.Context(), ns, content.Refactoring{Steps: steps})
	if err != nil {
		t.Fatal(err)
	}
	proposed := time.Since(began)
	if r, err = c.ApplyRefactoring(t.Context(), ns, r.ID, content.Acceptance{Unpreviewed: true}); err != nil || len(r.Moved) != 1600 {
		t.Fatalf("%d moved, %v", len(r.Moved), err)
	}
	took := time.Since(began)
	t.Logf("2000 resources over five states: proposed in %v, all in %v", proposed, took)
	if took > time.Minute { // the machine may be busy
		t.Errorf("it took %v", took)
	}
	for _, n := range names {
		obj := &infrav1.Terraform{}
		obj.Namespace, obj.Name = ns, n
		if got := len(strings.Fields(y.listed(t, obj))); got != 400 {
			t.Errorf("%s has %d resources", n, got)
		}
	}
}
