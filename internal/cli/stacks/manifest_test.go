// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

// manifest is a stack's, with the spec given.
func manifest(spec string) string {
	return "# Network of team a\napiVersion: infra.contrib.fluxcd.io/v1alpha2\nkind: Terraform\nmetadata:\n  name: vpc # the one\n  namespace: team-a\n" + spec
}

func TestApprovalsInManifests(t *testing.T) {
	const id = "plan-main-1a2b3c4d5e"
	for sentence, test := range map[string]struct{ before, after string }{
		"a value without quotes": {
			manifest("spec:\n  interval: 10m\n  approvePlan: plan-main-0000000000 # by hand\n  path: ./a\n"),
			manifest("spec:\n  interval: 10m\n  approvePlan: plan-main-1a2b3c4d5e # by hand\n  path: ./a\n")},
		"a value in quotes": {
			manifest("spec:\n    approvePlan:   \"\"   # none yet\n    interval: 10m\n"),
			manifest("spec:\n    approvePlan:   \"plan-main-1a2b3c4d5e\"   # none yet\n    interval: 10m\n")},
		"a value in single quotes": {
			manifest("spec:\n  approvePlan: 'it''s'\n"), ""},
		"a value in single quotes that is simple": {
			manifest("spec:\n  approvePlan: 'plan-x'\n"),
			manifest("spec:\n  approvePlan: \"plan-main-1a2b3c4d5e\"\n")},
		"a field without a value": {
			manifest("spec:\n  approvePlan: # to be filled\n  interval: 10m\n"),
			manifest("spec:\n  approvePlan: \"plan-main-1a2b3c4d5e\" # to be filled\n  interval: 10m\n")},
		"no field": {
			manifest("spec:\n  # how often\n  interval: 10m\n\n  vars:\n  - {name: a, value: ü}\n"),
			manifest("spec:\n  approvePlan: \"plan-main-1a2b3c4d5e\"\n  # how often\n  interval: 10m\n\n  vars:\n  - {name: a, value: ü}\n")},
		"no field, in braces": {
			manifest("spec: {interval: 10m}\n"),
			manifest("spec: {approvePlan: \"plan-main-1a2b3c4d5e\", interval: 10m}\n")},
		"a field in braces": {
			manifest("spec: {interval: 10m, approvePlan: auto, path: ü}"),
			manifest("spec: {interval: 10m, approvePlan: plan-main-1a2b3c4d5e, path: ü}")},
		"lines of another system": {
			strings.ReplaceAll(manifest("spec:\n  interval: 10m\n"), "\n", "\r\n"),
			strings.ReplaceAll(manifest("spec:\n  approvePlan: \"plan-main-1a2b3c4d5e\"\n  interval: 10m\n"), "\n", "\r\n")},
		"the second of three documents": {
			"kind: Secret\n---\n" + manifest("spec:\n  approvePlan: a\n") + "---\nkind: Terraform\nspec:\n  approvePlan: a\n",
			"kind: Secret\n---\n" + manifest("spec:\n  approvePlan: plan-main-1a2b3c4d5e\n") + "---\nkind: Terraform\nspec:\n  approvePlan: a\n"},
		"no namespace": {
			strings.Replace(manifest("spec:\n  approvePlan: a\n"), "  namespace: team-a\n", "", 1),
			strings.Replace(manifest("spec:\n  approvePlan: plan-main-1a2b3c4d5e\n"), "  namespace: team-a\n", "", 1)},
		"JSON": {
			`{"apiVersion":"infra.contrib.fluxcd.io/v1alpha2","kind":"Terraform","metadata":{"name":"vpc"},"spec":{"interval":"1m","approvePlan":"a"}}`,
			`{"apiVersion":"infra.contrib.fluxcd.io/v1alpha2","kind":"Terraform","metadata":{"name":"vpc"},"spec":{"interval":"1m","approvePlan":"plan-main-1a2b3c4d5e"}}`},
		// What follows is for people.
		"several lines of text":        {manifest("spec:\n  approvePlan: |-\n    a\n"), ""},
		"a word over two lines":        {manifest("spec:\n  approvePlan: a\n    b\n"), ""},
		"a reference":                  {manifest("spec:\n  path: &a b\n  approvePlan: *a\n"), ""},
		"what others refer to":         {manifest("spec:\n  approvePlan: &a b\n  path: *a\n"), ""},
		"a type":                       {manifest("spec:\n  approvePlan: !!str b\n"), ""},
		"no spec":                      {manifest(""), ""},
		"another namespace":            {strings.Replace(manifest("spec: {}\n"), "team-a", "team-b", 1), ""},
		"the stack twice":              {manifest("spec: {}\n") + "---\n" + manifest("spec: {}\n"), ""},
		"a template, which is no YAML": {"{{ if .x }}\n" + manifest("spec: {}\n") + "{{ end }}", ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, err := approveInManifest([]byte(test.before), types.NamespacedName{Namespace: "team-a", Name: "vpc"}, id)
			if (err != nil) != (test.after == "") {
				t.Fatalf("got %s, %v", got, err)
			}
			if diff := cmp.Diff(test.after, string(got)); diff != "" {
				t.Error(diff)
			}
			if err != nil {
				return
			}
			again, err := approveInManifest(got, types.NamespacedName{Namespace: "team-a", Name: "vpc"}, id)
			if err != nil || string(again) != string(got) {
				t.Errorf("approved again it is %s, %v", again, err)
			}
		})
	}
}

// Whatever the file looks like: it is edited rightly, or not at all, and nothing panics.
func FuzzApprovalInManifest(f *testing.F) {
	f.Add([]byte(manifest("spec:\n  interval: 10m\n")), "plan-main-1a2b3c4d5e")
	f.Add([]byte(manifest("spec: {approvePlan: 'a'}\n")), `plan-"\`)
	f.Add([]byte(manifest("spec:\n  approvePlan:\n")), "plan-x: y")
	f.Fuzz(func(t *testing.T, file []byte, id string) {
		key := types.NamespacedName{Namespace: "team-a", Name: "vpc"}
		edited, err := approveInManifest(file, key, id)
		if err != nil {
			return
		}
		before, err := parseManifests(file)
		if err != nil {
			t.Fatal(err)
		}
		after, err := parseManifests(edited)
		if err != nil || len(before) != len(after) {
			t.Fatalf("%q became %q: %v", file, edited, err)
		}
	})
}

func TestAFileKeepsItsModeAndItsLink(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "vpc.yaml"), filepath.Join(dir, "link.yaml")
	if err := os.WriteFile(file, []byte(manifest("spec: {}\n")), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("vpc.yaml", link); err != nil {
		t.Fatal(err)
	}
	for _, want := range []bool{true, false} {
		changed, err := approveInFile(link, types.NamespacedName{Namespace: "team-a", Name: "vpc"}, "plan-x")
		if err != nil || changed != want {
			t.Fatalf("changed %v, %v", changed, err)
		}
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if target, err := os.Readlink(link); err != nil || target != "vpc.yaml" {
		t.Errorf("the link is %q, %v", target, err)
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 2 {
		t.Errorf("left behind: %v, %v", names, err)
	}
}
