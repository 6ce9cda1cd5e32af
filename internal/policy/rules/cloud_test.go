// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/policy/facts"
	"github.com/yuba-dev/yuba/internal/testkit/plantest"
	"github.com/yuba-dev/yuba/internal/testkit/standintest"
)

// The providers of clouds cannot be had in tests. These stand for them, with types of their names that
// have the attributes in testdata/providers.json, so that tofu makes the plans.
var cloudProviders = []standintest.Standin{
	{Namespace: "hashicorp", Name: "aws", Version: "5.31.0"}, {Namespace: "hashicorp", Name: "awscc", Version: "1.0.0"}, {Namespace: "hashicorp", Name: "google", Version: "6.0.0"},
	{Namespace: "hashicorp", Name: "azurerm", Version: "4.0.0"}, {Namespace: "hashicorp", Name: "kubernetes", Version: "2.0.0"}, {Namespace: "gavinbunney", Name: "kubectl", Version: "1.14.0"},
	{Namespace: "hashicorp", Name: "helm", Version: "3.0.0"}, {Namespace: "hashicorp", Name: "external", Version: "2.3.0"}, {Namespace: "hashicorp", Name: "http", Version: "3.4.0"},
}

const kubectlSource = `terraform {
  required_providers {
    kubectl = { source = "gavinbunney/kubectl" }
  }
}
`

// cloudPlans are more rows of plans, with resources of clouds.
var cloudPlans = map[string]row{
	"access is granted, directly and indirectly": {
		Case: plantest.Case{Files: one(kubectlSource + `
resource "aws_iam_role" "role" { name = "admin" }
resource "aws_iam_role_policy_attachment" "attach" { role = "admin" }
resource "aws_s3_bucket_policy" "policy" { policy = jsonencode({ Statement = [{ Effect = "Allow", Principal = "*" }] }) }
resource "aws_sqs_queue" "open" { policy = jsonencode({ Statement = [] }) }
resource "aws_sqs_queue" "later" { policy = jsonencode({ Resource = aws_s3_bucket.plain.arn }) }
resource "aws_sqs_queue" "closed" { name = "q" }
resource "aws_kms_grant" "grant" { operations = ["Decrypt"] }
resource "aws_lambda_permission" "permission" { function_name = "f" }
resource "aws_lambda_function" "role" { role = "arn:aws:iam::1:role/admin" }
resource "aws_instance" "profile" { iam_instance_profile = "admin" }
resource "aws_instance" "plain" { ami = "ami-1" }
resource "aws_launch_template" "profile" {
  iam_instance_profile { name = "admin" }
}
resource "aws_eks_access_entry" "entry" { principal_arn = "arn" }
resource "aws_cloudformation_stack" "stack" { template_body = "Resources: {}" }
resource "aws_cloudcontrolapi_resource" "any" { type_name = "AWS::IAM::Role" }
resource "aws_ssoadmin_account_assignment" "sso" { principal_id = "a" }
resource "aws_organizations_policy" "scp" { content = "{}" }
resource "aws_s3_bucket" "plain" { bucket = "plain" }
resource "aws_s3_bucket" "public" { acl = "public-read" }
resource "aws_s3_bucket" "private" { acl = "private" }
resource "aws_vpc" "net" { cidr_block = "10.0.0.0/8" }
resource "aws_ecr_lifecycle_policy" "images" { policy = "{}" }
resource "awscc_iam_role" "cc" { role_name = "a" }
resource "awscc_ec2_vpc" "net" { cidr_block = "10.0.0.0/8" }
resource "google_project_iam_member" "member" { member = "allUsers" }
resource "google_service_account_key" "key" { service_account_id = "a" }
resource "google_compute_instance" "account" {
  service_account { email = "a@b" }
}
resource "google_compute_network" "net" { name = "n" }
resource "azurerm_role_assignment" "assignment" { principal_id = "a" }
resource "azurerm_linux_virtual_machine" "identity" {
  identity { type = "SystemAssigned" }
}
resource "azurerm_resource_group_template_deployment" "any" { template_content = "{}" }
resource "azurerm_virtual_network" "net" { name = "n" }
resource "kubernetes_cluster_role_binding_v1" "binding" { name = "admin" }
resource "kubernetes_namespace_v1" "ns" { name = "n" }
resource "kubernetes_manifest" "role" { manifest = { apiVersion = "rbac.authorization.k8s.io/v1", kind = "Role", metadata = { name = "a" } } }
resource "kubernetes_manifest" "map" { manifest = { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "a" } } }
resource "kubernetes_manifest" "later" { manifest = { apiVersion = "v1", kind = aws_vpc.net.arn } }
resource "kubectl_manifest" "second" { yaml_body = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\n" }
resource "kubectl_manifest" "map" { yaml_body = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n" }
resource "helm_release" "chart" { chart = "anything" }
`)},
		finds: map[string]string{
			`no-iam`: "aws_cloudcontrolapi_resource.any aws_cloudformation_stack.stack aws_eks_access_entry.entry aws_iam_role.role aws_iam_role_policy_attachment.attach aws_instance.profile aws_kms_grant.grant aws_lambda_function.role " +
				"aws_lambda_permission.permission aws_launch_template.profile aws_organizations_policy.scp aws_s3_bucket.public aws_s3_bucket_policy.policy ?aws_sqs_queue.later aws_sqs_queue.open aws_ssoadmin_account_assignment.sso " +
				"awscc_iam_role.cc azurerm_linux_virtual_machine.identity azurerm_resource_group_template_deployment.any azurerm_role_assignment.assignment google_compute_instance.account google_project_iam_member.member " +
				"google_service_account_key.key helm_release.chart kubectl_manifest.second kubernetes_cluster_role_binding_v1.binding ?kubernetes_manifest.later kubernetes_manifest.role",
			`no-iam {"addresses":["aws_vpc.*","aws_sqs_queue.closed"],"types":["aws_vpc"]}`:                                                                       "aws_vpc.net",
			`approved-providers {"providers":["hashicorp/aws","hashicorp/awscc","hashicorp/google","hashicorp/azurerm","hashicorp/kubernetes","hashicorp/helm"]}`: "registry.opentofu.org/gavinbunney/kubectl",
			`approved-providers {"providers":["*/*"]}`: "", `pinned-versions`: "", `no-external-data`: "", `no-destroy`: "",
		},
	},
	"a role changes inside of a module, with an alias, and keys that nobody expects": {
		Case: plantest.Case{
			Before: aliased("one"), Files: aliased("two"),
		},
		finds: map[string]string{
			`no-iam`: `module.m["a.b"].aws_iam_role.role["[\"x\"]"] module.m["a.b"].aws_iam_role.role["ü"] module.m["k]\".x"].aws_iam_role.role["[\"x\"]"] module.m["k]\".x"].aws_iam_role.role["ü"]`,
			`no-iam {"addresses":["module.m[\"a.b\"].*"]}`:                                         `module.m["a.b"].aws_iam_role.role["[\"x\"]"] module.m["a.b"].aws_iam_role.role["ü"]`,
			`only-tags-changed`:                                                                    `module.m["a.b"].aws_iam_role.role["[\"x\"]"] module.m["a.b"].aws_iam_role.role["ü"] module.m["k]\".x"].aws_iam_role.role["[\"x\"]"] module.m["k]\".x"].aws_iam_role.role["ü"]`,
			`approved-providers {"providers":["hashicorp/aws"]}`:                                   "",
			`approved-providers {"providers":["hashicorp/google"]}`:                                "registry.opentofu.org/hashicorp/aws",
			`approved-providers {"providers":[{"source":"hashicorp/aws","versions":"~> 4.0"}]}`:    "registry.opentofu.org/hashicorp/aws",
			`approved-providers {"providers":[{"source":"hashicorp/aws","versions":"~> 5.0"}]}`:    "",
			`approved-providers {"providers":[{"source":"hashicorp/aws","hashes":["h1:other="]}]}`: "registry.opentofu.org/hashicorp/aws",
			`pinned-versions {"providers":"exact"}`:                                                "registry.opentofu.org/hashicorp/aws",
		},
	},
	"a role is moved": {
		Case: plantest.Case{Before: one(`resource "aws_iam_role" "a" { name = "r" }`), Files: one(`resource "aws_iam_role" "b" { name = "r" }
			moved {
				from = aws_iam_role.a
				to   = aws_iam_role.b
			}`)},
		finds: map[string]string{`no-iam`: "", `no-iam {"addresses":["aws_iam_role.a"]}`: "aws_iam_role.b"},
	},
	"a role is moved into a module, and changes": {
		Case: plantest.Case{Before: one(`resource "aws_iam_role" "a" { name = "r" }`), Files: files("main.tf", `module "m" { source = "./m" }
			moved {
				from = aws_iam_role.a
				to   = module.m.aws_iam_role.b
			}`, "m/main.tf", `resource "aws_iam_role" "b" { name = "s" }`)},
		finds: map[string]string{`no-iam`: "module.m.aws_iam_role.b", `no-iam {"addresses":["aws_iam_role.a"]}`: "module.m.aws_iam_role.b"},
	},
	"a role is forgotten": {
		Case: plantest.Case{Before: one(`resource "aws_iam_role" "a" { name = "r" }`), Files: one(`removed {
			from = aws_iam_role.a
			lifecycle { destroy = false }
		}`)},
		finds: map[string]string{`no-iam`: "aws_iam_role.a", `no-forget`: "aws_iam_role.a"},
	},
	"a role is imported": {
		Case: plantest.Case{Files: one(`import {
				to = aws_iam_role.a
				id = "existing"
			}
			resource "aws_iam_role" "a" {}`)},
		finds: map[string]string{`no-iam`: "aws_iam_role.a", `only-tags-changed`: "aws_iam_role.a", `max-changes {"import":0}`: "-", `max-changes {"import":1,"total":0}`: ""},
	},
	"only tags change": {
		Case:  plantest.Case{Before: one(tagged(`tags = { team = "a" }`)), Files: one(tagged(`tags = { team = "b", "weird]\"key.ü" = "x" }`))},
		finds: map[string]string{`only-tags-changed`: "", `no-iam`: "", `no-destroy`: "", `max-changes {"byType":{"aws_*":1}}`: "-", `max-changes {"byType":{"aws_*":2}}`: ""},
	},
	"a tag is known after the apply only, and labels of another cloud": {
		Case: plantest.Case{
			Before: one(tagged(`tags = { team = "a" }`) + `resource "google_compute_network" "n" { labels = { a = "1" } }`),
			Files:  one(tagged(`tags = { team = terraform_data.t.id }`) + `resource "google_compute_network" "n" { labels = { a = "2" } }` + "\n" + `resource "terraform_data" "t" {}`)},
		finds: map[string]string{`only-tags-changed`: "terraform_data.t"},
	},
	"something else changes with the tags": {
		Case: plantest.Case{Before: one(`resource "aws_sqs_queue" "q" { tags = { team = "a" } }`), Files: one(`resource "aws_sqs_queue" "q" {
				tags          = { team = "b" }
				delay_seconds = terraform_data.t.id
			}
			resource "terraform_data" "t" {}`)},
		finds: map[string]string{`only-tags-changed`: "aws_sqs_queue.q terraform_data.t"},
	},
	"an instance is replaced by an attribute, and a policy is hidden": {
		Case: plantest.Case{Before: one(`resource "aws_instance" "i" { ami = "1" }`), Files: one(`variable "p" {
				default   = "{\"secret\":\"policy-of-nobody\"}"
				sensitive = true
			}
			resource "aws_instance" "i" { ami = "2" }
			resource "aws_sqs_queue" "q" { policy = var.p }`)},
		finds: map[string]string{`no-replace`: "aws_instance.i", `no-destroy`: "aws_instance.i", `no-destroy {"types":["aws_sqs_*"]}`: "", `no-iam`: "?aws_sqs_queue.q"},
	},
	"programs and addresses are read: in a module, in a check, later, and by an alias": {
		Case: plantest.Case{Files: files("main.tf", `
			provider "http" { alias = "other" }
			module "m" {
				for_each = toset(["a]", "b.c"])
				source   = "./m"
			}
			check "c" {
				data "http" "inside" { url = "http://127.0.0.1" }
				assert {
					condition     = data.http.inside.body != ""
					error_message = "no"
				}
			}
			resource "terraform_data" "a" {}
			data "external" "later" { program = [terraform_data.a.id] }
			data "http" "alias" {
				provider = http.other
				url      = "http://127.0.0.1"
			}
			data "aws_caller_identity" "fine" {}
			data "aws_lambda_invocation" "call" { function_name = "f" }
		`, "m/main.tf", `data "external" "x" { program = ["true"] }`)},
		finds: map[string]string{
			`no-external-data`: "data.aws_lambda_invocation.call data.external.later data.http.alias data.http.inside module.m.data.external.x",
			`no-external-data {"allowed":["http","aws_lambda_*"]}`:                                     "data.external.later module.m.data.external.x",
			`no-external-data {"types":["aws_caller_*"],"allowed":["http","external","aws_lambda_*"]}`: "data.aws_caller_identity.fine",
			`no-iam`: "?data.aws_lambda_invocation.call ?data.external.later ?module.m.data.external.x",
		},
	},
	"a provider runs a program for its credentials": {
		Case: plantest.Case{Files: files("main.tf", `
			provider "kubernetes" { exec = { command = "true" } }
			module "m" { source = "./m" }
			resource "kubernetes_namespace_v1" "n" { name = "n" }
		`, "m/main.tf", `
			provider "helm" { kubernetes = { exec = { command = "true" } } }
			data "aws_caller_identity" "x" {}
		`)},
		finds: map[string]string{
			`no-external-data`: "provider.kubernetes module.m.provider.helm", `no-external-data {"allowed":["exec"]}`: "",
			`no-iam`: "?provider.kubernetes ?module.m.provider.helm", `no-iam {"allowed":["exec"]}`: "", `no-iam {"programs":"allow"}`: "",
		},
	},
	"a deposed object is cleaned up": {
		Case: plantest.Case{
			Before: one(`resource "aws_vpc" "v" { cidr_block = "10.0.0.0/8" }`), Files: one(`resource "aws_vpc" "v" { cidr_block = "10.0.0.0/8" }`),
			State: func(state []byte) []byte {
				// The object of an apply that was interrupted between creating and destroying.
				begin := bytes.Index(state, []byte(`"instances": [`)) + len(`"instances": [`)
				end := begin + bytes.LastIndex(state[begin:], []byte("]\n    }"))
				instance := bytes.TrimSpace(state[begin:end])
				deposed := bytes.Replace(instance, []byte("{"), []byte(`{"deposed": "00000001",`), 1)
				return bytes.Replace(state, instance, fmt.Appendf(nil, "%s,%s", instance, deposed), 1)
			}},
		finds: map[string]string{`no-destroy`: "aws_vpc.v", `no-replace`: "", `max-changes {"destroy":0}`: "-", `only-tags-changed`: "aws_vpc.v"},
	},
}

// tagged are a network, which changes, and a queue, which stays.
func tagged(tags string) string {
	return `resource "aws_vpc" "v" {
		cidr_block = "10.0.0.0/8"
		` + tags + `
	}
	resource "aws_s3_bucket" "b" {
		bucket = "b"
		` + tags + `
	}
	resource "aws_sqs_queue" "q" { policy = "{}" }
	`
}

func aliased(name string) plantest.Files {
	return files("main.tf", `
		provider "aws" {}
		provider "aws" {
			alias  = "west"
			region = "us-west-1"
		}
		module "m" {
			source    = "./m"
			for_each  = toset(["k]\".x", "a.b"])
			providers = { aws = aws.west }
			name      = "`+name+`"
		}
	`, "m/main.tf", `
		variable "name" {}
		resource "aws_iam_role" "role" {
			for_each = toset(["[\"x\"]", "ü"])
			name     = var.name
		}
	`)
}

func TestRulesJudgePlansOfClouds(t *testing.T) {
	mirror := t.TempDir()
	if err := standintest.BuildAs(t, mirror, cloudProviders); err != nil {
		t.Fatal(err)
	}
	tables, err := filepath.Abs("testdata/providers.json")
	if err != nil {
		t.Fatal(err)
	}
	for sentence, c := range cloudPlans {
		c.Mirror, c.Env = mirror, append(c.Env, standintest.EnvTables+"="+tables)
		t.Run(sentence, func(t *testing.T) { c.judge(t) })
	}
}

func TestPlansOfOtherVersions(t *testing.T) {
	made := plantest.Make(t, plantest.Case{Before: one(`resource "terraform_data" "a" {}`), Files: one(``)})
	as := func(version string, more string) []byte {
		begin := bytes.Index(made.Show, []byte(`"format_version":"`))
		end := begin + len(`"format_version":"`) + strings.IndexByte(string(made.Show[begin+len(`"format_version":"`):]), '"') + 1
		return bytes.Replace(made.Show, made.Show[begin:end], []byte(`"format_version":"`+version+`"`+more), 1)
	}
	d, err := facts.Build(facts.Inputs{Stage: facts.StagePlan, Show: as("1.9", `,"deferred_changes":[{"reason":"new"}],"novel":{"a":[1]}`)})
	if err != nil {
		t.Fatal(err)
	}
	if got := found(t, "no-destroy", d, monday); got != "terraform_data.a" {
		t.Errorf("a plan of format 1.9 has the findings %q", got)
	}
	for _, version := range []string{"2.0", "0.1", "", "one"} {
		if _, err := facts.Build(facts.Inputs{Stage: facts.StagePlan, Show: as(version, "")}); err == nil || !strings.Contains(err.Error(), "1.x") {
			t.Errorf("a plan of format %q: %v", version, err)
		}
	}
	for name, show := range map[string][]byte{"cut": made.Show[:len(made.Show)/2], "empty": {}, "another action": bytes.Replace(made.Show, []byte(`["delete"]`), []byte(`["delete","revive"]`), 1)} {
		d, err := facts.Build(facts.Inputs{Stage: facts.StagePlan, Show: show})
		switch {
		case name != "another action" && err == nil:
			t.Errorf("a plan that is %s has facts", name)
		case name == "another action" && (err != nil || found(t, "no-replace", d, monday) != "?terraform_data.a"):
			t.Errorf("an action that is not known: %v, %q", err, found(t, "no-replace", d, monday))
		}
	}
}
