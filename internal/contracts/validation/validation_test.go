// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/yuba-dev/yuba/internal/contracts/conform"
	"github.com/yuba-dev/yuba/internal/contracts/shape"
	"github.com/yuba-dev/yuba/internal/contracts/validation"
)

func base(t *testing.T) shape.Type {
	t.Helper()
	ty, err := shape.Parse("object({vpc_id = string, port = number, ratio = number, subnets = list(object({id = string})), note = optional(string), tags = map(string)})")
	if err != nil {
		t.Fatal(err)
	}
	return ty
}

var value = cty.ObjectVal(map[string]cty.Value{
	"vpc_id":  cty.StringVal("vpc-1"),
	"port":    cty.NumberIntVal(443),
	"ratio":   cty.MustParseNumberVal("0.5"),
	"subnets": cty.ListVal([]cty.Value{cty.ObjectVal(map[string]cty.Value{"id": cty.UnknownVal(cty.String)})}),
	"note":    cty.NullVal(cty.String),
	"tags":    cty.MapVal(map[string]cty.Value{"env": cty.StringVal("prod")}),
})

func TestCheck(t *testing.T) {
	for text, want := range map[string]string{
		"self.vpc_id.startsWith('vpc-')":         "",
		"self.port > 0 && self.port < 65536":     "",
		"self.port + 1 == 444 && self.ratio < 1": "",
		"self.note == null":                      "",
		"self.tags.env in ['prod', 'test']":      "",
		"self.port > 1024":                       "base.port is not valid: self.port > 1024",
		"self.port > 1024 && self.ratio > 0":     "base is not valid: self.port > 1024 && self.ratio > 0",
		"self.tags.team == 'x'":                  "base.tags.team is not valid: the validation cannot be evaluated",
		"self.subnets.all(s, s.id != '')":        "base.subnets is unknown until the apply",
		"self.subnets[0].id != ''":               "base.subnets[0].id is unknown until the apply",
		"size(self) == 6":                        "base is unknown until the apply",
	} {
		v, err := validation.Compile(base(t), []validation.Rule{{Text: text}})
		if err != nil {
			t.Fatal(err)
		}
		breaks, unknown, err := v.Check(t.Context(), value)
		var got []string
		for _, f := range append(breaks, unknown...) {
			got = append(got, f.In("base"))
		}
		if joined := strings.Join(got, "; "); err != nil || joined != want && (want == "" || !strings.HasPrefix(joined, want)) {
			t.Errorf("%s: %s, %v; want %s", text, joined, err, want)
		}
	}
}

func TestFailuresDoNotShowValues(t *testing.T) {
	secret := cty.ObjectVal(map[string]cty.Value{
		"password": cty.StringVal("hunter2("), "number": cty.NumberIntVal(0),
		"by": cty.MapVal(map[string]cty.Value{"hunter2(": cty.StringVal("x")}),
	})
	of, err := shape.Parse("object({password = string, number = number, by = map(string)})")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"timestamp(self.password) > timestamp('2026-01-01T00:00:00Z')": " with this value",
		"duration(self.password) > duration('1s')":                     " with this value",
		"int(self.password) > 1":                                       " with this value",
		"'x'.matches(self.password)":                                   ": a pattern is not a regular expression",
		"self.by[self.password + 'x'] == ''":                           ": a key that it reads does not exist",
		"self.by.other == ''":                                          ": a key that it reads does not exist",
		"['x'][self.number + 7] == ''":                                 ": an element that it reads does not exist",
		"1 / self.number == 1":                                         ": it divides by zero",
		"self.password.charAt(99) == ''":                               " with this value",
		"base64.decode(self.password) == b''":                          " with this value",
		"dyn(self.password) + dyn(1) == 'no such key'":                 ": a value has another type than its functions take",
	} {
		v, err := validation.Compile(of, []validation.Rule{{Text: text, Message: "it must be right"}})
		if err != nil {
			t.Fatal(err)
		}
		breaks, _, err := v.Check(t.Context(), secret)
		if err != nil || len(breaks) != 1 {
			t.Errorf("%s: %v, %v", text, breaks, err)
			continue
		}
		if diff := cmp.Diff("the validation cannot be evaluated"+want, breaks[0].Got); diff != "" {
			t.Error(text, diff)
		}
	}
}

func TestMessages(t *testing.T) {
	v, err := validation.Compile(base(t), []validation.Rule{{Text: "self.port < 1", Message: "the port\nis  too high"}})
	if err != nil {
		t.Fatal(err)
	}
	breaks, _, err := v.Check(t.Context(), value)
	if diff := cmp.Diff("is not valid: the port is too high", breaks[0].Says()); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestWhatIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"self.vpcid != ''":     `validation 1, 'self.vpcid != ''', reads what the contract does not have: the path "vpcid": the value has no attribute "vpcid"`,
		"self.subnets.id == 1": "subnets is a list and has no attributes",
		"self.port + 1":        "output type mismatch",
		"self.port >":          "Syntax error",
		"other.port > 1":       "undeclared reference",
	} {
		if _, err := validation.Compile(base(t), []validation.Rule{{Text: text}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if _, err := validation.Compile(base(t), make([]validation.Rule, 51)); err == nil {
		t.Error("51 validations are accepted")
	}
}

func TestCostlyRulesBreak(t *testing.T) {
	doubling := "[self.vpc_id]" + strings.Repeat(".map(x, x + x)", 40) + "[0] != ''"
	v, err := validation.Compile(base(t), []validation.Rule{{Text: doubling}})
	if err != nil {
		t.Fatal(err)
	}
	breaks, _, err := v.Check(t.Context(), value)
	if err != nil || len(breaks) != 1 || breaks[0].Why != conform.Validation {
		t.Error(breaks, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := v.Check(ended, value); err == nil {
		t.Error("a canceled evaluation has a result")
	}
}
