// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write testdata instead of comparing with it")

// Names as long as people give them: 20 and 30 characters.
const (
	longNamespace = "platform-engineering"
	longName      = "production-network-eu-central1"
)

// shownTable is a table with long names, and the columns that it has with -o wide only.
type shownTable struct {
	title string
	rows  [][]string
	wide  []string
	// tight is true for tables that only fit 100 columns, not 80: nothing that is in them may be cut.
	tight bool
}

func shownTables() []shownTable {
	const commit = "main@sha1:0123456789abcdef0123456789abcdef01234567"
	stackRows := [][]string{{"NAMESPACE", "NAME", "READY", "STATUS", "AGE"}}
	for i, status := range []string{"Applied", "No changes", "Waiting for dev/network", "Plan pending: +1 ~0 -0", "Failed; pending +12 ~3 -1", "Plan refused by webhook"} {
		stackRows = append(stackRows, []string{longNamespace, longName, []string{"True", "False", "Unknown"}[i%3], status, "5m30s"})
	}
	const run, changed = "20260102-030405.000-0123456789", "The configuration changed: variable region"
	stack := longNamespace + "/" + longName
	why := "Applied plan-main-0123456789 as it was approved"
	digest := "sha256:" + strings.Repeat("0123456789abcdef", 4)
	return []shownTable{
		{"yuba list -A", stackRows, nil, true},
		{"yuba list", without(stackRows, []string{"NAMESPACE"}), nil, false},
		{"yuba get kustomizations -A", [][]string{{"NAMESPACE", "NAME", "REVISION", "READY", "MESSAGE"},
			{longNamespace, longName, "main@sha1:0123456789", "True", "Applied revision: " + commit},
			{longNamespace, longName, "main@sha1:0123456789", "Unknown", "Suspended; Applied revision: " + commit}}, nil, true},
		{"yuba get sources git", [][]string{{"NAME", "REVISION", "READY", "MESSAGE"}, {longName, "main@sha1:0123456789", "True", "stored artifact for revision '" + commit + "'"}}, nil, false},
		{"yuba get all -A", [][]string{{"NAMESPACE", "NAME", "REVISION", "READY", "MESSAGE"},
			{longNamespace, "kustomization/" + longName, "main@sha1:0123456789", "True", "Applied revision: " + commit}}, nil, true},
		{"yuba tenant list -A", [][]string{{"NAMESPACE", "NAME", "UID", "TEMPLATE", "OBJECTS", "READY", "MESSAGE"},
			{longNamespace, longName, "production-network", "eu-central1", "12/14", "False", "settings: waits for database"}}, nil, true},
		{"yuba pending", [][]string{{"NAMESPACE", "NAME", "PLAN", "CHANGES", "WAITS"}, {longNamespace, longName, "plan-main-0123456789-2", "+12 ~3 -1", "47h"}}, nil, true},
		{"yuba runs " + longName, [][]string{{"RUN", "OPERATION", "OUTCOME", "CHANGES", "AGE", "TOOK", "TOOL", "WHY"},
			{run, "plan-and-apply", "interrupted", "+120 ~7 -13", "90s", "30s", "tofu 1.12.6", changed + ", the artifact, and 3 more"}}, []string{"TOOL"}, true},
		{"yuba queue", [][]string{{"PLACE", "STACK", "RUN", "FOR", "AGE", "WHY"},
			{"prepared", stack, "plan-and-apply", "awaited", "90s", changed}, {"12", stack, "plan-and-apply", "awaited", "90s", changed + "; its namespace is full"}}, nil, true},
		{"yuba state history " + longName, [][]string{{"VERSION", "SERIAL", "SIZE", "AGE", "RUN", "WHY"}, {"01767225600000000000-412", "412", "1412 KiB", "47h", run, why}}, nil, true},
		{"yuba tools", [][]string{{"TOOL", "VERSION", "RUNNER", "PATH", "NOTE"},
			{"terraform", "1.12.6", "", "/var/lib/yuba/tools/terraform/1.12.6/terraform", "the default"},
			{"tofu", "1.6.0", "", "/usr/local/bin/tofu", "older than 1.8, which is the oldest that can be used"}}, nil, false},
		{"yuba list artifacts", [][]string{{"ARTIFACT", "DIGEST", "SOURCE", "REVISION"},
			{"oci://registry.example.com/iac/network:1.4.0", digest, "https://git.example.com/platform/network", "v1.4.0@sha1:" + strings.Repeat("01234567", 5)}}, []string{"DIGEST"}, false},
	}
}

// Every table fits the screens that people have, with names as long as people give them.
func TestTablesFit(t *testing.T) {
	for _, width := range []int{80, 100, 120} {
		var all strings.Builder
		for _, table := range shownTables() {
			fmt.Fprintf(&all, "$ %s\n", table.title)
			for _, line := range tableLines(table.rows, width, table.wide) {
				if Length(line) > width && (width >= plainWidth || !table.tight) {
					t.Errorf("%s: %d characters do not fit into %d columns:\n%s", table.title, Length(line), width, line)
				}
				fmt.Fprintln(&all, line)
			}
			fmt.Fprintln(&all)
		}
		golden(t, fmt.Sprintf("tables-%d.txt", width), all.String())
	}
}

// kubectl cuts nothing: what it shows of stacks in all namespaces has to fit as it is.
func TestWhatKubectlShowsOfStacksFits(t *testing.T) {
	columns := Fit(shownTables()[0].rows, 0)
	if width := columns.width(); width > plainWidth {
		t.Errorf("kubectl get tf -A takes %d columns", width)
	}
}

// With -o wide nothing is cut and no column is left out.
func TestWideTablesHaveEverything(t *testing.T) {
	for _, table := range shownTables() {
		lines := strings.Join(tableLines(table.rows, (&Console{}).Room(nil, &Output{Form: WideForm}), nil), "\n")
		for _, row := range table.rows {
			for _, cell := range row {
				if !strings.Contains(lines, cell) {
					t.Errorf("%s lacks %q", table.title, cell)
				}
			}
		}
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil { //nolint:gosec // anybody may read what a command shows
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// A table that is made for what there is takes what comes later as well as it can.
func TestLaterRowsTakeTheRoomThereIs(t *testing.T) {
	columns := Fit([][]string{{"NAME", "READY", "STATUS", "AGE"}, {"vpc", "True", "Applied", "5s"}}, 40)
	for row, want := range map[[4]string]string{
		{"vpc", "Unknown", "Plan pending: +1 ~0 -0", "6s"}:  "vpc    Unknown   Plan pending: +1…   6s",
		{"a-longer-name", "False", "Failed", "7s"}:          "a-longer-name   False   Failed    7s",
		{"a-name-that-is-as-long-as-they-get", "", "x", ""}: "a-name-that-is-as-long-as-they-get           x",
	} {
		if got := columns.Line(row[:]); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}
