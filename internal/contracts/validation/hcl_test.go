// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"testing"

	"github.com/yuba-dev/yuba/internal/contracts/shape"
)

func TestRulesInOpenTofusLanguage(t *testing.T) {
	of, err := shape.Parse("object({ name = string, port = number, note = optional(string), on = bool, subnets = list(object({ id = string, size = number })), tags = map(string), pair = tuple([string, number]) })")
	if err != nil {
		t.Fatal(err)
	}
	for rule, want := range map[string]string{
		"self.port > 1024":                      "(v.port > 1024)",
		"self.subnets.size() >= 2":              "(length(v.subnets) >= 2)",
		"size(self.tags) != 0":                  "(length(v.tags) != 0)",
		"self.on && !(self.port == 80)":         "alltrue([try(v.on, false), try(!((v.port == 80)), false)])",
		"self.note == null || self.note == 'a'": `anytrue([try((v.note == null), false), try((v.note == "a"), false)])`,
		"self.name.startsWith('a') ? self.name.endsWith('z') : self.name.contains('q')": `(startswith(v.name, "a") ? endswith(v.name, "z") : strcontains(v.name, "q"))`,
		`self.name.matches('^[a-z]+$')`:                       `can(regex("^[a-z]+$", v.name))`,
		`self.name == '${danger} %{if}'`:                      `(v.name == "$${danger} %%{if}")`,
		"self.port in [80, 443]":                              "contains([80, 443], v.port)",
		"'env' in self.tags":                                  `contains(keys(v.tags), "env")`,
		"self.tags['env'] == 'prod'":                          `(v.tags["env"] == "prod")`,
		"self.tags.env == 'prod'":                             `(v.tags["env"] == "prod")`,
		"self.subnets[0].size == 24":                          "(v.subnets[0].size == 24)",
		"self.pair[1] == 24":                                  "(v.pair[1] == 24)",
		"self.subnets.all(s, s.size > 20)":                    "alltrue([for v1 in v.subnets : try((v1.size > 20), false)])",
		"self.tags.exists(k, k == 'env')":                     `anytrue([for v1, _ in v.tags : try((v1 == "env"), false)])`,
		"self.subnets.all(s, self.tags.exists(k, k == s.id))": "alltrue([for v1 in v.subnets : try(anytrue([for v2, _ in v.tags : try((v2 == v1.id), false)]), false)])",
		// What the two languages do not say alike.
		"self.name.size() < 20":                         "",
		"self.name < 'n'":                               "",
		"self.port + 1 > 2":                             "",
		"has(self.note)":                                "",
		"self.subnets.exists_one(s, s.size == 24)":      "",
		"self.subnets.map(s, s.size) == [24]":           "",
		"self.name.matches(self.note)":                  "",
		"self.subnets.filter(s, s.size > 1).size() > 0": "",
		"self.subnets.all(self, self.size > 20)":        "",
		"self.name.split(',').size() == 2":              "",
	} {
		v, err := Compile(of, []Rule{{Text: rule}})
		if err != nil {
			t.Errorf("%s: %v", rule, err)
			continue
		}
		if want != "" {
			want = "try(" + want + ", false)"
		}
		if got := v.HCL(of, "v"); len(got) != 1 || got[0].HCL != want || got[0].Message != rule {
			t.Errorf("%s:\n%+v, want\n%s", rule, got, want)
		}
	}
}
