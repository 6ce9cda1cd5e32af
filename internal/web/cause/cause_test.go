// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"strings"
	"testing"
	"unicode/utf8"
)

const denied = `Error: creating EC2 VPC: operation error EC2: CreateVpc, https response error StatusCode: 403, RequestID: 1a2b-%s, api error UnauthorizedOperation

  with module.network["%s"].aws_vpc.main[0],
  on .terraform/modules/network/main.tf line 12, in resource "aws_vpc" "main":
  12: resource "aws_vpc" "main" {
      ^^^^^^^^^^^^^^^^^^^^^^^^^^^

You are not authorized to perform this operation on arn:aws:ec2:eu-central-1:123456789012:vpc/*.
`

func fill(text string, with ...string) string {
	for _, w := range with {
		text = strings.Replace(text, "%s", w, 1)
	}
	return text
}

const drifted = `Drift detected.
Note: these objects were changed outside of the stack:

  # aws_s3_bucket.logs has changed
~ resource "aws_s3_bucket" "logs" {
      ~ acl  = "private" -> "public"
      ~ tags = {
          - owner = "ops"
        }
    }

Actions in this plan:
~ update in place (current -> planned)

  # aws_s3_bucket.logs will be updated in place
~ resource "aws_s3_bucket" "logs" {
        name = "%s"
      ~ tags = {
          + owner = "ops"
        }
        # (4 unchanged attributes hidden)
    }

Plan: 0 to add, 1 to change, 0 to destroy.
`

func TestOf(t *testing.T) {
	for sentence, test := range map[string]struct {
		facts Facts
		want  Cause
	}{
		"an error of a resource": {Facts{Kind: Failure, Reason: "TFExecApplyFailed", Message: fill(denied, "77", "eu")},
			Cause{Failure, "TFExecApplyFailed", "aws_vpc", "", "creating # VPC: operation error #: CreateVpc, https response error StatusCode: 403, RequestID: #, api error UnauthorizedOperation You are not authorized to perform this operation on ARN"}},
		"an error without a place": {Facts{Kind: Failure, Reason: "R", Message: "Error: Invalid provider configuration\n\nProvider \"registry.opentofu.org/hashicorp/aws\" requires explicit configuration."},
			Cause{Failure, "R", "", "", `Invalid provider configuration Provider "…" requires explicit configuration.`}},
		"a text that no tool wrote": {Facts{Kind: Failure, Reason: "ArtifactFailed", Message: "could not get Source object: GitRepository flux-system/infra not found"},
			Cause{Failure, "ArtifactFailed", "", "", "could not get Source object: GitRepository flux-system/infra not found"}},
		"a name of the stack": {Facts{Namespace: "team-a", Name: "vpc", Kind: Failure, Message: "the Secret of vpc in team-a is missing"},
			Cause{Failure, "", "", "", "the Secret of … in … is missing"}},
		"the first of several errors": {Facts{Kind: Failure, Message: "Error: one\n\ndetail\n\nError: two\n"},
			Cause{Failure, "", "", "", "one detail"}},
		"an error of a data source in a module": {Facts{Kind: Failure, Message: "Error: no\n\n  with module.a.module.b.data.aws_ami.x,\n  on main.tf line 1:\n"},
			Cause{Failure, "", "aws_ami", "", "no"}},
		"an error of a provider": {Facts{Kind: Failure, Message: "Error: no\n\n  with provider[\"registry.opentofu.org/hashicorp/aws\"],\n"},
			Cause{Failure, "", "", "", "no"}},
		"nothing":        {Facts{Kind: Failure}, Cause{Kind: Failure}},
		"drift of a tag": {Facts{Kind: Drift, Reason: "DriftDetected", Message: fill(drifted, "a")}, Cause{Drift, "DriftDetected", "aws_s3_bucket", "tags", "Changed: tags"}},
		"drift, unread":  {Facts{Kind: Drift, Message: "Drift detected."}, Cause{Drift, "", "", "", "Something differs"}},
		"a deleted object": {Facts{Kind: Drift, Message: "Drift detected.\n  # a.b will be created\n+ resource \"null_resource\" \"b\" {\n      + id = 1\n    }\n"},
			Cause{Drift, "", "null_resource", "deleted", "null_resource is gone"}},
		"only what has changed": {Facts{Kind: Drift, Message: "Drift detected.\nNote:\n  # a.b has changed\n~ resource \"a_b\" \"b\" {\n      ~ size = 1 -> 2\n    }\n"},
			Cause{Drift, "", "a_b", "size", "Changed: size"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := Of(test.facts); got != test.want {
				t.Errorf("got  %+v\nwant %+v", got, test.want)
			}
		})
	}
}

func TestTheSameProblemIsOneGroup(t *testing.T) {
	all := []Facts{
		{Namespace: "a", Name: "one", Kind: Failure, Message: fill(denied, "1f", "eu")},
		{Namespace: "b", Name: "two", Kind: Failure, Message: fill(denied, "99", "us")},
		{Namespace: "b", Name: "drifts", Kind: Drift, Message: fill(drifted, "x")},
		{Namespace: "c", Name: "three", Kind: Failure, Message: strings.Replace(fill(denied, "5", "x"), "403", "503", 1)},
		{Namespace: "c", Name: "well"},
		{Namespace: "c", Name: "drifts", Kind: Drift, Message: fill(drifted, "y")},
		{Namespace: "d", Name: "four", Kind: Failure, Message: fill(denied, "x9", "z")},
	}
	var got []string
	for _, g := range Groups(all, func(f Facts) (Facts, bool) { return f, f.Kind != "" }) {
		line := string(g.Kind) + " " + g.Type + ":"
		for _, s := range g.Stacks {
			line += " " + s.Namespace + "/" + s.Name
		}
		got = append(got, line)
		if g.Key != g.Cause.Key() || len(g.Key) != 12 {
			t.Errorf("key %q", g.Key)
		}
	}
	want := []string{"failure aws_vpc: a/one b/two d/four", "drift aws_s3_bucket: b/drifts c/drifts", "failure aws_vpc: c/three"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestProvider(t *testing.T) {
	for types, want := range map[string]string{"aws_vpc": "aws", "aws_vpc, aws_subnet": "aws", "aws_vpc, null_resource": "", "terraform_data": "", "": "", "thing": ""} {
		if got := (Cause{Type: types}).Provider(); got != want {
			t.Errorf("%q: got %q, want %q", types, got, want)
		}
	}
}

func FuzzOf(f *testing.F) {
	f.Add(denied)
	f.Add(drifted)
	f.Add("Error: \x00\xff\n  with ,\n")
	f.Fuzz(func(t *testing.T, message string) {
		for _, kind := range []Kind{Failure, Drift} {
			c := Of(Facts{Namespace: "a", Name: "b", Kind: kind, Message: message})
			if utf8.RuneCountInString(c.Text) > 5000 {
				t.Fatalf("a long text: %d", len(c.Text))
			}
			if c != read(Facts{Namespace: "a", Name: "b", Kind: kind, Message: message}) {
				t.Fatal("two causes of one message")
			}
		}
	})
}
