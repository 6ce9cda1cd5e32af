// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

func TestOutputsAreMasked(t *testing.T) {
	outputs := map[string]content.Output{
		"list":   {Value: []byte(`["a",1]`), Type: []byte(`["tuple",["string","number"]]`)},
		"name":   {Value: []byte(`"x\u001b[31m"`), Type: []byte(`"string"`)},
		"secret": {Value: []byte(`"s3cr3t"`), Type: []byte(`"string"`), Sensitive: true},
	}
	var hidden, shown bytes.Buffer
	if err := printOutputs(&hidden, outputs, false); err != nil {
		t.Fatal(err)
	}
	if err := printOutputs(&shown, outputs, true); err != nil {
		t.Fatal(err)
	}
	common := "list = [\n  \"a\",\n  1\n]\nname = \"x\\u001b[31m\"\nsecret = "
	if diff := cmp.Diff(common+"<sensitive>\n", hidden.String()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(common+"\"s3cr3t\"\n", shown.String()); diff != "" {
		t.Error(diff)
	}
	if masked(outputs, false); string(outputs["secret"].Value) != `"s3cr3t"` {
		t.Error("masking changed what it was given")
	}
}

func TestRunRow(t *testing.T) {
	started, finished := noon.Add(-10*time.Minute), noon.Add(-10*time.Minute+1234*time.Millisecond)
	record := run.Record{Spec: run.Spec{ID: "r1", Operation: run.OperationApply, Destroy: true}, Created: started, Trigger: "Approved"}
	cases := map[string]struct {
		change func(*run.Record)
		want   []string
	}{
		"a run that waits": {func(*run.Record) {}, []string{"r1", "apply (destroy)", "waiting", "", "10m", "", "", "Approved"}},
		"a run at work":    {func(r *run.Record) { r.Started = &started }, []string{"r1", "apply (destroy)", "running", "", "10m", "", "", "Approved"}},
		"a run that ended": {func(r *run.Record) {
			r.Started, r.Result = &started, &run.Result{Outcome: run.OutcomeSucceeded, Finished: finished, ToolName: "tofu", ToolVersion: "1.12.6", AppliedCounts: &run.Counts{Destroy: 3}}
		}, []string{"r1", "apply (destroy)", "succeeded", "+0 ~0 -3", "10m", "1.23s", "tofu 1.12.6", "Approved"}},
		"passes kept in one record": {func(r *run.Record) { r.Passes = 7 }, []string{"r1", "apply (destroy)", "waiting", "", "10m", "", "", "Approved (7 times)"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := record
			c.change(&r)
			if diff := cmp.Diff(c.want, runRow(r, noon)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCompareResources(t *testing.T) {
	resource := func(address, id, attributes string) state.Resource {
		return state.Resource{Address: address, ID: id, Attributes: []byte(attributes)}
	}
	from := &state.File{Serial: 7, Resources: []state.Resource{resource("a.new", "i-1", "{}"), resource("a.changed", "", `{"x":1}`), resource("a.same", "", "{}")}}
	to := &state.File{Serial: 3, Resources: []state.Resource{resource("a.changed", "", `{"x":2}`), resource("a.same", "", "{}"), resource("a.old", "i-2", "{}")}}
	var b bytes.Buffer
	compareResources(&b, from, to)
	want := `  ~ a.changed
  - a.new (i-1) is forgotten; it stays in the world
  + a.old (i-2) is known again, whether or not it still is in the world
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

func TestShortForms(t *testing.T) {
	cases := map[string]struct{ got, want string }{
		"a revision keeps ten digits":        {shortRevision("main@sha1:0123456789abcdef"), "main@sha1:0123456789"},
		"a short revision stays":             {shortRevision("v1.2.3"), "v1.2.3"},
		"an age in seconds":                  {age(noon, noon.Add(-90*time.Second)), "90s"},
		"an age in days":                     {age(noon, noon.Add(-72*time.Hour)), "3d"},
		"a clock that is ahead makes no age": {age(noon, noon.Add(time.Hour)), "0s"},
		"no time is no age":                  {age(noon, time.Time{}), ""},
		"small sizes in bytes":               {size(227), "227 B"},
		"large sizes in mebibytes":           {size(300 << 20), "300 MiB"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if c.got != c.want {
				t.Errorf("got %q, want %q", c.got, c.want)
			}
		})
	}
}
