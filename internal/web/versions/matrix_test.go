// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package versions

import (
	"fmt"
	"strings"
	"testing"
)

func TestMatrix(t *testing.T) {
	m := matrixOf([]use{
		{Kind: "module", Source: "acme/vpc/aws", Version: "1.9.0", Environment: "prod"}, {Kind: "module", Source: "acme/vpc/aws", Version: "1.10.0", Environment: "dev"},
		{Kind: "module", Source: "acme/vpc/aws", Version: "1.10.0", Environment: "prod", Notice: "revoked"}, {Kind: "module", Source: "acme/vpc/aws", Version: "1.9.0", Environment: "prod"},
		{Kind: "tool", Source: "tofu", Version: "1.12.0", Environment: "dev"}, {Kind: "tool", Source: "tofu", Version: "1.12.0", Environment: "prod"},
		{Kind: "source", Source: "GitRepository a/b", Version: "main", Environment: unlabelled}, {Kind: "tool", Source: "tofu", Version: "1.12.0", Environment: "canary"},
	}, func(source string) string { return "/" + source })
	var lines []string
	for _, r := range m.Rows {
		lines = append(lines, fmt.Sprintf("%s %s %v %v", r.Kind, r.Source, r.Cells, r.Differ))
	}
	want := `source GitRepository a/b [[] [] [] [{main 1 }]] false
module acme/vpc/aws [[{1.10.0 1 }] [] [{1.9.0 2 } {1.10.0 1 revoked}] []] true
tool tofu [[{1.12.0 1 }] [{1.12.0 1 }] [{1.12.0 1 }] []] false`
	if got := strings.Join(lines, "\n"); got != want || fmt.Sprint(m.Environments) != "[dev canary prod –]" {
		t.Errorf("%v\n%s\nwant\n%s", m.Environments, got, want)
	}
}

func TestChosen(t *testing.T) {
	for asked, want := range map[string]string{"": "env", "team": "team", byNamespace: byNamespace} {
		if got := chosen(asked, []map[string]string{{"app": "x"}, {"env": "prod"}}); got != want {
			t.Errorf("%q: %s, want %s", asked, got, want)
		}
	}
	if got := chosen("", nil); got != byNamespace {
		t.Error(got)
	}
}

func TestMatches(t *testing.T) {
	u := use{Kind: "module", Source: "acme/VPC/aws", Version: "1.2.0", Where: "prod/net"}
	for query, want := range map[string]bool{"": true, "vpc": true, "kind:module net": true, "kind:tool": false, "version:1.2.0": true, "version:1.2": false, "other": false} {
		if u.matches(query) != want {
			t.Errorf("%q: %v", query, !want)
		}
	}
}
