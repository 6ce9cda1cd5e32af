// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"testing"

	"github.com/yuba-dev/yuba/internal/policy/facts"
)

func TestPatternsOfSourcesStayInTheHost(t *testing.T) {
	for _, c := range []struct {
		pattern, source string
		want            bool
	}{
		{"git::https://*.example.com/modules", "git::https://git.example.com/modules.git", true},
		{"git::https://*.example.com/modules", "git::https://GIT.Example.com:443//modules", false}, // the directory is another one
		{"git::https://*.example.com/modules", "git::https://evil.com/x.example.com/modules", false},
		{"git::https://*.example.com/modules", "git::https://evil.com/x.example.com/modules.git?ref=v1", false},
		{"git::https://*/modules", "git::https://evil.com/a/modules", false},
		{"git::https://*/modules", "git::https://git.example.com/modules", true},
		{"git::https://example.com/*", "git::https://example.com/a/b", true},
		{"git::https://example.com/*", "git::https://example.com.evil.com/a/b", false},
		{"git::https://example.com/*", "git::ssh://git@example.com/a/b", false},
		{"https://*.example.com/modules*", "https://evil.com?x.example.com/modules%zz", false},
		{"https://*.example.com/modules*", `https://evil.com\\.example.com/modules`, false},
		{"https://*.example.com/modules*", "https://evil.com#.example.com/modules/a.zip", false},
		{"https://*.example.com/modules*", "https://files.example.com/modules/a.zip", true},
		{"*.example.com/acme/vpc/aws", "registry.example.com/acme/vpc/aws", true},
		{"registry.example.com/acme/*/aws", "registry.example.com/acme/vpc/aws", true},
		{"registry.example.com/acme/*/aws", "evil.com/acme/vpc/aws", false},
		{"github.com/acme/modules", "git@github.com:acme/modules.git", false},
		{"git@github.com:acme/modules.git", "git::ssh://git@github.com/acme/modules.git", true},
	} {
		a := approvedModule{Source: c.pattern}
		if err := a.prepare(); err != nil {
			t.Fatal(c.pattern, err)
		}
		if got := a.is(facts.ParseSource(c.source)); got != c.want {
			t.Errorf("%s approves %s: %t", c.pattern, c.source, got)
		}
	}
	for _, c := range []struct {
		pattern, source string
		want            bool
	}{
		{"hashicorp/*", "registry.opentofu.org/hashicorp/aws", true},
		{"*.example.com/acme/*", "registry.example.com/acme/aws", true},
		{"*.example.com/*/aws", "evil.com/x.example.com/aws", false},
		{"*/acme/aws", "evil.com/x/acme/aws", false},
	} {
		a := approvedProvider{Source: c.pattern}
		if err := a.prepare(); err != nil {
			t.Fatal(c.pattern, err)
		}
		if got := matchesSource(a.Source, c.source); got != c.want {
			t.Errorf("%s approves %s: %t", c.pattern, c.source, got)
		}
	}
}
