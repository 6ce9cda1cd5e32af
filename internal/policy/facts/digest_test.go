// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"encoding/json"
	"testing"
	"time"
)

func TestTheDigestIsThatOfEverythingThatRulesJudge(t *testing.T) {
	made := func(change func(*Document)) string {
		d := &Document{}
		full(t, d)
		if change != nil {
			change(d)
		}
		digest, err := d.Digest()
		if err != nil {
			t.Fatal(err)
		}
		return digest
	}
	first := made(nil)
	for sentence, c := range map[string]struct {
		change func(*Document)
		same   bool
	}{
		"another run made the same plan":  {func(d *Document) { d.Run.ID = "run-2" }, true},
		"at another time":                 {func(d *Document) { d.Run.PlannedAt = time.Now() }, true},
		"the rules of others read it":     {func(d *Document) { d.Show = []byte("{}") }, true},
		"one more consumer breaks":        {func(d *Document) { d.Contracts[0].Breaks = append(d.Contracts[0].Breaks, BrokenConsumer{Name: "b"}) }, false},
		"the contract fits":               {func(d *Document) { d.Contracts[0].Verdict = ContractFits }, false},
		"the stack has other labels":      {func(d *Document) { d.Stack.Labels["x"] = "y" }, false},
		"a module has other bytes":        {func(d *Document) { d.Configuration.Modules[0].Digest = "y" }, false},
		"a resource has a provisioner":    {func(d *Document) { d.Configuration.Resources[0].Provisioners = []string{"local-exec"} }, false},
		"a value differs":                 {func(d *Document) { d.Changes[0].After = json.RawMessage(`"y"`) }, false},
		"one change less":                 {func(d *Document) { d.Changes = nil }, false},
		"the change is drift":             {func(d *Document) { d.Changes, d.Drift = d.Drift[:0], append(d.Changes, d.Drift...) }, false},
		"the state is of another lineage": {func(d *Document) { d.Digests.StateLineage = "y" }, false},
		"it was asked for by another":     {func(d *Document) { d.Run.RequestedBy = "y" }, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := made(c.change); (got == first) != c.same {
				t.Errorf("the digest is %s, and %s before", got, first)
			}
		})
	}
}
