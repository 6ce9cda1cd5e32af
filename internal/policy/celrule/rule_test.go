// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package celrule

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/policy/facts"
)

// plan has a change with an unknown, a sensitive and a nested unknown value.
var plan = &facts.Document{
	Stage:  facts.StagePlan,
	Run:    facts.Run{PlannedAt: time.Date(2026, 11, 27, 9, 0, 0, 0, time.UTC)},
	Counts: facts.Counts{Total: facts.Tally{Create: 2}},
	Changes: []facts.Change{
		{Address: "aws_vpc.main", Type: "aws_vpc", Action: "create", Actions: []string{"create"},
			After: json.RawMessage(`{"cidr":"10.0.0.0/16","id":{"$unknown":true},"key":{"$sensitive":true},"tags":{"team":"a","arn":{"$unknown":true}},"$$odd":1,"zones":["a",{"$unknown":true}]}`)},
		{Address: `aws_db["a.b"]`, Type: "aws_db", Action: "delete", Actions: []string{"delete"}, Destroys: true, Before: json.RawMessage(`{"size":5}`)},
	},
}

func TestJudge(t *testing.T) {
	const id = `facts.changes["aws_vpc.main"].after.id is unknown until the apply`
	for text, want := range map[string]string{
		`facts.counts.total.create < 3`:                                               "",
		`facts.counts.total.create < 2`:                                               "no",
		`facts.counts.total.delete == 0`:                                              "", // JSON leaves it out
		`facts.changes.all(c, !c.destroys)`:                                           "no",
		`facts.changes.all(c, c.type != "aws_db" || !c.imports)`:                      "",
		`facts.run.plannedAt.getDayOfWeek() == 5`:                                     "",
		`facts.plan == null`:                                                          "",
		`facts.changes[1].before.size + 1 == 6`:                                       "",
		`facts.changes[0].after["$odd"] == 1`:                                         "",
		`facts.changes[0].after.tags.team == "a"`:                                     "",
		`has(facts.changes[0].after.id)`:                                              "",
		`facts.changes[0].after.id == "x"`:                                            id,
		`facts.changes[0].after.id != null`:                                           id,
		`facts.changes[0].after.id in ["a"]`:                                          id,
		`!(facts.changes[0].after.id in ["a"])`:                                       id,
		`facts.changes.all(c, c.action != "create" || c.after.id.startsWith("x"))`:    id,
		`facts.changes.exists(c, c.action == "create" && c.after.id == "x")`:          id,
		`facts.changes.filter(c, c.action == "create" && c.after.id == "x") == []`:    id,
		`facts.changes.exists_one(c, c.action == "create" && c.after.id == "x")`:      id,
		`facts.changes[0].after.?id.orValue("x") == "x"`:                              id,
		`facts.changes[0].after.id.arn == "x"`:                                        id,
		`string(facts.changes[0].after.id) == ""`:                                     id,
		`type(facts.changes[0].after.id) == string`:                                   id,
		`(facts.changes[0].after.id == "x" ? true : true)`:                            id,
		`[facts.changes[0].after.id] == ["x"]`:                                        id,
		`facts.changes[0].after.key == ""`:                                            `facts.changes["aws_vpc.main"].after.key is sensitive`,
		`facts.changes[0].after.tags == {"team": "a", "arn": "x"}`:                    `facts.changes["aws_vpc.main"].after.tags.arn is unknown`,
		`facts.changes[0].after.tags != {"team": "a", "arn": "y"}`:                    `facts.changes["aws_vpc.main"].after.tags.arn is unknown`,
		`!("b" in facts.changes[0].after.zones)`:                                      `facts.changes["aws_vpc.main"].after.zones[1] is unknown`,
		`facts.changes[0].after.zones.all(z, z != "b")`:                               `facts.changes["aws_vpc.main"].after.zones[1] is unknown`,
		`sets.contains(["a"], facts.changes[0].after.zones)`:                          `facts.changes["aws_vpc.main"].after.zones[1] is unknown`,
		`facts.changes[0].after.zones.map(z, z) == ["a", "b"]`:                        `facts.changes["aws_vpc.main"].after.zones[1] is unknown`,
		`facts.changes[0].after.cidr == "x" && facts.changes[0].after.id == "x"`:      "no", // whatever the id is
		`facts.changes[0].after.id == "x" && facts.changes[0].after.cidr == "x"`:      "no",
		`facts.changes[0].after.id == "x" || facts.changes[0].after.tags.team == "a"`: "",
		`facts.changes[0].after.nothing == "x"`:                                       "error: ",
		`facts.changes[5].action == "x"`:                                              "error: ",
		`facts.counts.total.create / 0 == 1`:                                          "error: ",
		`facts.changes[0].after.cidr > 5`:                                             "error: ",
	} {
		rule, err := Compile(text, "no")
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		verdict, err := rule.Judge(t.Context(), plan)
		got := verdict.Message
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != want && (len(want) < 4 || !strings.HasPrefix(got, want)) {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
		if strings.Contains(got, "unknown until") != verdict.Unknown && !strings.Contains(got, "sensitive") {
			t.Errorf("%s: unknown is %t", text, verdict.Unknown)
		}
	}
}

func TestCompile(t *testing.T) {
	for text, want := range map[string]string{
		"facts.changes.all(c,\n  c.type = 5)":                "line 2, column 10: ",
		"facts.changes.all(c, d.type == 'x')":                "line 1, column 22: undeclared reference to 'd'",
		"facts.counts.total.create":                          "CEL expression output type mismatch",
		"facts.chnges.size() == 0":                           "facts has no field chnges; its fields are apiVersion, changes, configuration",
		"facts.counts.total.destroy == 0":                    "facts.counts.total has no field destroy; its fields are create, delete, forget",
		"true":                                               "the expression does not read facts",
		"facts.changes.all(c, " + strings.Repeat("(", 10000): "",
		strings.Repeat(" ", 20000):                           "the expression has 20000 bytes",
	} {
		if _, err := Compile(text, ""); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.60s\ngot  %v\nwant %s", text, err, want)
		}
	}
}

func TestCostIsBounded(t *testing.T) {
	many := *plan
	many.Changes = nil
	for i := range 10_000 {
		many.Changes = append(many.Changes, facts.Change{Address: fmt.Sprint("a.b", i), Actions: []string{"create"}})
	}
	rule, err := Compile(`facts.changes.all(a, facts.changes.all(b, facts.changes.all(c, a.address + b.address != c.address)))`, "")
	if err != nil {
		t.Fatal(err)
	}
	if verdict, err := rule.Judge(t.Context(), &many); err == nil || !strings.Contains(err.Error(), "64 MiB") && !strings.Contains(err.Error(), "deadline") {
		t.Errorf("got %v, %v", verdict, err)
	}
	if rule, err = Compile(`facts.changes.all(c, !("delete" in c.actions) && c.address.startsWith("a."))`, ""); err != nil {
		t.Fatal(err)
	}
	if verdict, err := rule.Judge(t.Context(), &many); err != nil || verdict.Message != "" {
		t.Errorf("10 000 changes: %v, %v", verdict, err)
	}
}

func BenchmarkJudge(b *testing.B) {
	many := *plan
	many.Changes = nil
	for i := range 10_000 {
		many.Changes = append(many.Changes, facts.Change{Address: fmt.Sprint("a.b", i), Actions: []string{"create"}, After: json.RawMessage(`{"a":1,"tags":{"x":"y"}}`)})
	}
	rule, err := Compile(`facts.changes.all(c, !("delete" in c.actions) && c.address.startsWith("a."))`, "")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if verdict, err := rule.Judge(b.Context(), &many); err != nil || verdict.Message != "" {
			b.Fatal(verdict, err)
		}
	}
}
