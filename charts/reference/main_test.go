// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
	"testing"
)

func TestThePageIsUpToDate(t *testing.T) {
	values, err := os.ReadFile("../yuba/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want, err := render(values)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../docs/reference/chart-values.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/reference/chart-values.md is not what values.yaml says. To write it:\n    make generate")
	}
	for _, row := range []string{
		"| `replicaCount` | `1` | Number of replicas.",
		"| `nameOverride` |  | Name of the chart",
		"| `runner.serviceAccount.allowedNamespaces` | `[]` |",
		"| `networkPolicy.runners.blockedCIDRs` | `[169.254.169.254/32, \"fd00:ec2::254/128\"]` |",
		"## Runner Pods\n\n| value",
	} {
		if !strings.Contains(want, row) {
			t.Errorf("the page lacks %q", row)
		}
	}
}

func TestAValueWithoutACommentIsRefused(t *testing.T) {
	if _, err := render([]byte("# @section A\n\n# -- One\none: 1\ntwo: {three: 3}\n")); err == nil || !strings.Contains(err.Error(), "value two.three has no comment") {
		t.Errorf("error %v", err)
	}
}
