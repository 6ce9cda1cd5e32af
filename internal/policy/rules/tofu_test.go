// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/policy/facts"
	"github.com/yuba-dev/yuba/internal/testkit/plantest"
)

var monday = time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)

// row is a plan, and what rules find in it.
type row struct {
	plantest.Case
	run   facts.Run
	finds map[string]string
}

// plans are plans that the real tofu makes, with what rules find in them: "RULE PARAMETERS" to the
// addresses of the findings, those that are marked as unknown with a "?".
var plans = map[string]row{
	"nothing changes": {
		Case: plantest.Case{Before: one(`resource "terraform_data" "a" { input = 1 }`), Files: one(`resource "terraform_data" "a" { input = 1 }`)},
		finds: map[string]string{
			`no-destroy`: "", `no-replace`: "", `no-forget`: "", `no-iam`: "", `max-changes {"total":0}`: "", `only-tags-changed`: "", `no-provisioners`: "", `no-external-data`: "",
			`pinned-versions`: "", `approved-providers {"providers":["hashicorp/aws"]}`: "", `contract-safe`: "",
		},
	},
	"a resource is created": {
		Case: plantest.Case{Files: one(`resource "terraform_data" "a" { input = 1 }`)},
		finds: map[string]string{
			`no-destroy`: "", `no-replace`: "", `no-forget`: "", `max-changes {"total":1}`: "", `max-changes {"total":0}`: "-", `max-changes {"create":0}`: "-", `max-changes {"destroy":0,"update":0,"replace":0}`: "",
			`only-tags-changed`: "terraform_data.a", `approved-modules {"modules":["acme/vpc/aws"]}`: "terraform_data.a", `approved-modules {"modules":["acme/vpc/aws"],"root":"allow"}`: "",
		},
	},
	"a resource is destroyed": {
		Case: plantest.Case{Before: one(`resource "terraform_data" "a" {}`), Files: one(``)},
		finds: map[string]string{
			`no-destroy`: "terraform_data.a", `no-replace`: "", `no-forget`: "", `max-changes {"destroy":0}`: "-", `max-changes {"percent":50}`: "-", `max-changes {"percent":100}`: "", `max-changes {"byType":{"terraform_*":0}}`: "-", `max-changes {"byType":{"aws_*":0}}`: "",
			`only-tags-changed`: "terraform_data.a", `no-destroy {"types":["aws_*"]}`: "", `no-destroy {"types":["terraform_*"]}`: "terraform_data.a", `no-destroy {"addresses":["terraform_data.b"]}`: "",
			// A removed block that had provisioners cannot be told from a deleted one.
			`no-provisioners`: "?terraform_data.a", `no-provisioners {"removed":"allow"}`: "",
		},
	},
	"everything is destroyed": {
		Case:  plantest.Case{Before: one(`resource "terraform_data" "a" {}`), Files: one(`resource "terraform_data" "a" {}`), Args: []string{"-destroy"}},
		finds: map[string]string{`no-destroy`: "terraform_data.a", `no-provisioners`: ""},
	},
	"keys with brackets, quotes, dots and unicode are destroyed": {
		Case: plantest.Case{
			Before: one(`resource "terraform_data" "a" { for_each = toset(["x]", "y\"z", "a.b", "ünï", "$${q}", "m[0].n"]) }`),
			Files:  one(`resource "terraform_data" "a" { for_each = toset([]) }`)},
		finds: map[string]string{
			`no-destroy`: `terraform_data.a["$${q}"] terraform_data.a["a.b"] terraform_data.a["m[0].n"] terraform_data.a["x]"] terraform_data.a["y\"z"] terraform_data.a["ünï"]`,
			`no-destroy {"addresses":["terraform_data.a[\"x]\"]"]}`: `terraform_data.a["x]"]`,
			`no-destroy {"addresses":["terraform_data.b*"]}`:        "", `max-changes {"destroy":5}`: "-", `max-changes {"destroy":6}`: "",
		},
	},
	"a resource in a module in a module is destroyed": {
		Case: plantest.Case{
			Before: files("main.tf", `module "m" {
				for_each = toset(["k]\".x"])
				source = "./m"
			}`, "m/main.tf", `module "n" { source = "./n" }`, "m/n/main.tf", `resource "terraform_data" "a" {}`),
			Files: files("main.tf", `module "m" {
				for_each = toset(["k]\".x"])
				source = "./m"
			}`, "m/main.tf", `module "n" { source = "./n" }`, "m/n/main.tf", ``)},
		finds: map[string]string{
			`no-destroy`: `module.m["k]\".x"].module.n.terraform_data.a`,
			// The modules belong to the package of the root module.
			`approved-modules {"modules":["acme/vpc/aws"]}`: `module.m module.m.module.n module.m["k]\".x"].module.n.terraform_data.a`,
		},
	},
	"a whole module is gone": {
		Case: plantest.Case{Before: files("main.tf", `module "m" { source = "./m" }`, "m/main.tf", `resource "terraform_data" "a" {}`), Files: one(``)},
		finds: map[string]string{
			`no-destroy`: "module.m.terraform_data.a", `approved-modules {"modules":["acme/vpc/aws"],"root":"allow"}`: "?module.m.terraform_data.a",
			`approved-modules {"modules":["acme/vpc/aws"],"root":"allow","removed":"allow"}`: "",
		},
	},
	"a resource is moved, and stays": {
		Case: plantest.Case{Before: one(`resource "terraform_data" "a" {}`), Files: one(`resource "terraform_data" "b" {}
			moved {
				from = terraform_data.a
				to   = terraform_data.b
			}`)},
		finds: map[string]string{`no-destroy`: "", `no-replace`: "", `no-destroy {"addresses":["terraform_data.a"]}`: "terraform_data.b", `no-replace {"addresses":["terraform_data.a"]}`: "terraform_data.b",
			`no-forget {"addresses":["terraform_data.a"]}`: "terraform_data.b", `no-destroy {"types":["terraform_*"]}`: "", `no-destroy {"addresses":["terraform_data.b"]}`: "", `no-destroy {"addresses":["terraform_data.*"]}`: "", `only-tags-changed`: "", `only-tags-changed {"moves":false}`: "terraform_data.b", `max-changes {"total":0}`: ""},
	},
	"a resource that a rule protects by address is moved away and destroyed": {
		Case: plantest.Case{Before: one(`resource "terraform_data" "a" { triggers_replace = 1 }`), Files: one(`resource "terraform_data" "b" { triggers_replace = 2 }
			moved {
				from = terraform_data.a
				to   = terraform_data.b
			}`)},
		finds: map[string]string{`no-destroy {"addresses":["terraform_data.a"]}`: "terraform_data.b", `no-forget {"addresses":["terraform_data.a"]}`: "terraform_data.b", `no-replace`: "terraform_data.b", `no-destroy`: "terraform_data.b"},
	},
	"a resource is forgotten": {
		Case: plantest.Case{Before: one(`resource "terraform_data" "a" {}`), Files: one(`removed {
				from = terraform_data.a
				lifecycle { destroy = false }
			}`)},
		finds: map[string]string{`no-destroy`: "terraform_data.a", `no-destroy {"forget":"allow"}`: "", `no-forget`: "terraform_data.a", `max-changes {"forget":0}`: "-", `only-tags-changed`: "terraform_data.a", `no-provisioners`: ""},
	},
	"a removed block destroys, with a provisioner that the plan does not show": {
		Case: plantest.Case{Before: one(`resource "terraform_data" "a" {}`), Files: one(`removed {
				from = terraform_data.a
				lifecycle { destroy = true }
				provisioner "local-exec" {
					when    = destroy
					command = "true"
				}
			}`)},
		finds: map[string]string{`no-destroy`: "terraform_data.a", `no-forget`: "", `no-provisioners`: "?terraform_data.a"},
	},
	"the lifecycle forgets what is not declared any more": {
		Case: plantest.Case{Before: one(`resource "terraform_data" "a" {
				count = 2
				lifecycle { destroy = false }
			}`), Files: one(`resource "terraform_data" "a" {
				count = 1
				lifecycle { destroy = false }
			}`)},
		finds: map[string]string{`no-destroy`: "terraform_data.a[1]", `no-forget`: "terraform_data.a[1]"},
	},
	"the old object of a replacement is forgotten": {
		Case: plantest.Case{Before: one(`resource "terraform_data" "a" {
				triggers_replace = 1
				lifecycle { destroy = false }
			}`), Files: one(`resource "terraform_data" "a" {
				triggers_replace = 2
				lifecycle { destroy = false }
			}`)},
		finds: map[string]string{`no-destroy`: "terraform_data.a", `no-replace`: "terraform_data.a", `no-forget`: "terraform_data.a"},
	},
	"a resource is replaced, and the new object comes first": {
		Case: plantest.Case{Before: one(`resource "terraform_data" "a" {
				triggers_replace = 1
				lifecycle { create_before_destroy = true }
			}`), Files: one(`resource "terraform_data" "a" {
				triggers_replace = 2
				lifecycle { create_before_destroy = true }
			}`)},
		finds: map[string]string{`no-destroy`: "terraform_data.a", `no-replace`: "terraform_data.a", `no-forget`: "", `max-changes {"destroy":0}`: "-", `max-changes {"replace":1,"total":1,"destroy":1}`: ""},
	},
	"a replacement is asked for": {
		Case:  plantest.Case{Before: one(`resource "terraform_data" "a" {}`), Files: one(`resource "terraform_data" "a" {}`), Args: []string{"-replace=terraform_data.a"}},
		finds: map[string]string{`no-destroy`: "terraform_data.a", `no-replace`: "terraform_data.a"},
	},
	"an object is imported": {
		Case: plantest.Case{Files: one(`resource "terraform_data" "a" {}
			import {
				to = terraform_data.a
				id = "x"
			}`)},
		finds: map[string]string{`no-destroy`: "", `only-tags-changed`: "terraform_data.a", `max-changes {"import":0}`: "-", `max-changes {"total":0}`: "", `approved-modules {"modules":["acme/vpc/aws"]}`: "terraform_data.a"},
	},
	"an attribute changes": {
		Case:  plantest.Case{Before: one(`resource "terraform_data" "a" { input = { tags = 1 } }`), Files: one(`resource "terraform_data" "a" { input = { tags = 2 } }`)},
		finds: map[string]string{`only-tags-changed`: "terraform_data.a", `only-tags-changed {"attributes":["input.tags","output"]}`: "", `only-tags-changed {"attributes":["input","output"]}`: "", `max-changes {"update":0}`: "-"},
	},
	"a provisioner in a module": {
		Case: plantest.Case{Files: files("main.tf", `module "m" { source = "./m" }`, "m/main.tf", `resource "terraform_data" "a" {
				count = 0
				provisioner "local-exec" { command = "true" }
			}`)},
		finds: map[string]string{`no-provisioners`: "module.m.terraform_data.a", `no-provisioners {"allowed":["local-exec"]}`: "", `no-iam`: "?module.m.terraform_data.a", `no-iam {"programs":"allow"}`: ""},
	},
	"another state is read": {
		Case: plantest.Case{Files: one(`data "terraform_remote_state" "x" {
				backend = "local"
				config  = { path = "x.tfstate" }
				defaults = {}
			}
			resource "terraform_data" "later" {}
			data "terraform_remote_state" "y" {
				backend = "local"
				config  = { path = terraform_data.later.id }
			}`), Before: files("x.tfstate", `{"version":4,"terraform_version":"1.9.0","serial":1,"lineage":"a","outputs":{},"resources":[]}`, "main.tf", "")},
		finds: map[string]string{`no-external-data`: "data.terraform_remote_state.x data.terraform_remote_state.y", `no-external-data {"allowed":["terraform_remote_state"]}`: "", `no-iam`: ""},
	},
	"planning ended with an error": {
		Case: plantest.Case{Fails: true, Files: one(`resource "terraform_data" "a" {}
			resource "terraform_data" "b" {
				input = terraform_data.a.input
				lifecycle {
					precondition {
						condition     = terraform_data.a.input == 2
						error_message = "no"
					}
				}
			}`)},
		finds: map[string]string{`no-destroy`: "?-", `max-changes {"total":100}`: "?-"},
	},
}

func one(text string) plantest.Files { return plantest.Files{"main.tf": text} }

func files(pairs ...string) plantest.Files {
	f := plantest.Files{}
	for i := 0; i < len(pairs); i += 2 {
		f[pairs[i]] = pairs[i+1]
	}
	return f
}

// found are the addresses of findings, as the table has them.
func found(t *testing.T, rule string, d *facts.Document, now time.Time) string {
	t.Helper()
	name, parameters, _ := strings.Cut(rule, " ")
	check, err := Prepare(name, json.RawMessage(parameters))
	if err != nil {
		t.Fatal(err)
	}
	before, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, f := range check.Judge(d, now).Findings {
		address := f.Address
		if address == "" {
			address = "-"
		}
		if f.Unknown {
			address = "?" + address
		}
		if f.Rule != name || f.Message == "" || strings.Contains(f.Message, "\n") {
			t.Errorf("%s: a finding is not complete: %+v", rule, f)
		}
		list = append(list, address)
	}
	if after, err := json.Marshal(d); err != nil || string(after) != string(before) {
		t.Errorf("%s changes the document", rule)
	}
	return strings.Join(list, " ")
}

func TestRulesJudgePlansOfTofu(t *testing.T) {
	for sentence, c := range plans {
		t.Run(sentence, func(t *testing.T) { c.judge(t) })
	}
}

func (c row) judge(t *testing.T) {
	made := plantest.Make(t, c.Case)
	d, err := facts.Build(facts.Inputs{Stage: facts.StagePlan, Show: made.Show, ModuleList: made.ModuleList, LockFile: made.LockFile, Run: c.run})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for rule := range c.finds {
		got[rule] = found(t, rule, d, monday)
	}
	if diff := cmp.Diff(c.finds, got); diff != "" {
		t.Error(diff)
	}
}
