// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRunView(t *testing.T) {
	const (
		note       = `{"@level":"info","@message":"Initializing the backend..."}`
		install    = `{"@level":"info","@message":"- Installing hashicorp/time v0.13.1..."}`
		planned    = `{"@level":"info","@message":"x","type":"planned_change","change":{"resource":{"addr":"a.b"},"action":"create"}}`
		creating   = `{"@level":"info","@message":"a.b: Creating...","type":"apply_start","hook":{"resource":{"addr":"a.b"},"action":"create"}}`
		diagnostic = `{"@level":"error","@message":"Error: Bad","type":"diagnostic","diagnostic":{"severity":"error","summary":"Bad"}}`
		outputs    = `{"@level":"info","@message":"Outputs: 1","type":"outputs","outputs":{"a":{"value":1}}}`
		words      = "tofu crashed"
	)
	cases := map[string]struct {
		hidePlan bool
		lines    []string
		want     string
		errors   int
	}{
		"what init fetches is news, what it says is not": {false, []string{note, install}, "- Installing hashicorp/time v0.13.1...\n", 0},
		"a plan that will be shown is not told before":   {true, []string{planned}, "", 0},
		"a plan that is applied at once is":              {false, []string{planned, creating}, "  + a.b\na.b: Creating...\n", 0},
		"an error is told once":                          {false, []string{diagnostic, diagnostic}, "Error: Bad\n", 2},
		"outputs are the answer, not news":               {false, []string{outputs}, "", 0},
		"what is no message of tofu is shown":            {true, []string{words}, words + "\n", 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			v := &RunView{Writer: &b, HidePlan: c.hidePlan}
			for _, line := range c.lines {
				if err := v.Line([]byte(line + "\n")); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(c.want, b.String()); diff != "" || v.Errors != c.errors {
				t.Errorf("%d errors\n%s", v.Errors, diff)
			}
		})
	}
}
