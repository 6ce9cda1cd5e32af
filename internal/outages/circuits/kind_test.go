// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package circuits

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestExamine(t *testing.T) {
	stack := Stack{Namespace: "team-a", Name: "vpc"}
	providers := []string{"acme/aws", "hashicorp/aws", "registry.example.com/acme/box"}
	for sentence, c := range map[string]struct {
		failure Failure
		want    Kind
	}{
		"a provider that is configured names itself": {
			Failure{Summary: "no valid credential sources", Address: `module.m["x"].provider["registry.opentofu.org/hashicorp/aws"].west`},
			Kind{Provider: "hashicorp/aws", Cause: CauseCredentials}},
		"a resource is its provider's": {
			Failure{Summary: "reading", Detail: "https response error StatusCode: 503, RequestID: 4711", Address: `module.net[0].module.x.data.aws_vpc.main["a.b"]`},
			Kind{Provider: "hashicorp/aws", Cause: CauseUnavailable}},
		"a provider of another registry": {
			Failure{Summary: "x", Detail: "429 Too Many Requests", Address: "box_thing.a"},
			Kind{Provider: "registry.example.com/acme/box", Cause: CauseThrottled}},
		"a refusal": {
			Failure{Summary: "creating", Detail: "api error AccessDenied: User is not authorized to perform", Address: "aws_iam_role.a"},
			Kind{Provider: "hashicorp/aws", Cause: CauseDenied}},
		"credentials that have run out, with a status that means something else": {
			Failure{Summary: "reading", Detail: "StatusCode: 403, api error ExpiredToken: The security token included in the request is expired", Address: "aws_vpc.main"},
			Kind{Provider: "hashicorp/aws", Cause: CauseCredentials}},
		"a host that is not reached": {
			Failure{Summary: "Failed to query available provider packages", Detail: "could not connect to registry.opentofu.org: dial tcp: lookup registry.opentofu.org"},
			Kind{Host: "registry.opentofu.org", Cause: CauseUnavailable}},
		"a password in a URL is no host": {
			Failure{Summary: "x", Detail: `Get "https://me:hunter2@git.example.com/x": EOF`},
			Kind{Host: "git.example.com", Cause: CauseUnavailable}},
		"names, numbers and paths are left out": {
			Failure{Summary: `Cannot read object main of vpc in team-a: id i-0123 "x y" (vpc-12) at /var/lib/x via arn:aws:iam::1:role/x, sorry`, Address: `aws_vpc.main`},
			Kind{Provider: "hashicorp/aws", Summary: "cannot read object of in id at via sorry"}},
		"a number is no status by itself": {
			Failure{Summary: "wants at least 503 bytes", Address: "aws_vpc.main"},
			Kind{Provider: "hashicorp/aws", Summary: "wants at least bytes"}},
		"a type whose provider is not known": {
			Failure{Summary: "Odd", Address: "google_thing.a"}, Kind{Summary: "odd"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Examine(c.failure, stack, providers)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestProvidersIn(t *testing.T) {
	lock := `# made by tofu
provider "registry.opentofu.org/hashicorp/null" {
  version = "3.2.4"
}
provider "registry.example.com/acme/box" {
}
provider "registry.opentofu.org/hashicorp/aws" {
  hashes = ["h1:provider \"x\" {"]
}
`
	if diff := cmp.Diff([]string{"hashicorp/aws", "hashicorp/null", "registry.example.com/acme/box"}, ProvidersIn([]byte(lock))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// For any text, a kind is small, has a valid object name, and is deterministic.
func TestKindsOfAnything(t *testing.T) {
	name := regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,66}[a-z0-9])?$`)
	rapid.Check(t, func(t *rapid.T) {
		f := Failure{Summary: rapid.String().Draw(t, "summary"), Detail: rapid.String().Draw(t, "detail"), Address: rapid.String().Draw(t, "address")}
		k := Examine(f, Stack{Namespace: "a", Name: "b"}, []string{"hashicorp/aws"})
		if !name.MatchString(k.Name()) {
			t.Fatalf("the name is %q", k.Name())
		}
		if len(k.Summary) > maxSummary || len(k.Host) > 253 || strings.ContainsAny(k.Summary, "0123456789\n") {
			t.Fatalf("%+v", k)
		}
		if k != Examine(f, Stack{Namespace: "a", Name: "b"}, []string{"hashicorp/aws"}) {
			t.Fatal("another kind at the second look")
		}
	})
}
