// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package setters

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// testSetters are those of two policies, one with a digest.
func testSetters(t testing.TB) *Setters {
	s := &Setters{}
	for policy, image := range map[string]Image{"app": {"ghcr.io/acme/app", "1.1.0", ""}, "num": {"acme/num", "1.10", "sha256:" + strings.Repeat("a", 64)}} {
		if err := s.Add("apps", policy, image); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

const digest = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

func TestEdit(t *testing.T) {
	for name, c := range map[string]struct{ file, in, want, problem string }{
		"a plain value":                 {"a.yaml", "image: ghcr.io/acme/app:1.0.0 # {\"$imagepolicy\": \"apps:app\"}\n", "image: ghcr.io/acme/app:1.1.0 # {\"$imagepolicy\": \"apps:app\"}\n", ""},
		"line ends of Windows":          {"a.yaml", "a: 1\r\nimage: x:1.0.0   # {\"$imagepolicy\": \"apps:app\"}\r\nb: [ 2,3 ]\r\n", "a: 1\r\nimage: ghcr.io/acme/app:1.1.0   # {\"$imagepolicy\": \"apps:app\"}\r\nb: [ 2,3 ]\r\n", ""},
		"the tag, quoted as before":     {"a.yml", "tag: '1.0.0' # {\"$imagepolicy\": \"apps:app:tag\"}", "tag: '1.1.0' # {\"$imagepolicy\": \"apps:app:tag\"}", ""},
		"double quotes":                 {"a.yml", "tag: \"1.0.0\" # {\"$imagepolicy\": \"apps:app:tag\"}", "tag: \"1.1.0\" # {\"$imagepolicy\": \"apps:app:tag\"}", ""},
		"a tag that would be a number":  {"a.yaml", "tag: 1.9 # {\"$imagepolicy\": \"apps:num:tag\"}\n", "tag: \"1.10\" # {\"$imagepolicy\": \"apps:num:tag\"}\n", ""},
		"the name":                      {"a.yaml", "- name: old # {\"$imagepolicy\": \"apps:app:name\"}\n", "- name: ghcr.io/acme/app # {\"$imagepolicy\": \"apps:app:name\"}\n", ""},
		"the digest":                    {"a.yaml", "digest: sha256:bb # {\"$imagepolicy\": \"apps:num:digest\"}\n", "digest: " + digest + " # {\"$imagepolicy\": \"apps:num:digest\"}\n", ""},
		"an image with its digest":      {"a.yaml", "- acme/num:1.9 # {\"$imagepolicy\": \"apps:num\"}\n", "- acme/num:1.10@" + digest + " # {\"$imagepolicy\": \"apps:num\"}\n", ""},
		"no digest to write":            {"a.yaml", "digest: x # {\"$imagepolicy\": \"apps:app:digest\"}\n", "", "apps:app:digest: the policy reflects no digest"},
		"several documents":             {"a.yaml", "a: x # {\"$imagepolicy\": \"apps:app:tag\"}\n---\n# ünïcode\nb: {k: 'ü', v: 1}\nc: &anchor y # {\"$imagepolicy\": \"apps:app:tag\"}\n", "a: 1.1.0 # {\"$imagepolicy\": \"apps:app:tag\"}\n---\n# ünïcode\nb: {k: 'ü', v: 1}\nc: &anchor 1.1.0 # {\"$imagepolicy\": \"apps:app:tag\"}\n", ""},
		"letters of several bytes":      {"a.yaml", "ключ: x:1 # {\"$imagepolicy\": \"apps:app:tag\"}\n", "ключ: 1.1.0 # {\"$imagepolicy\": \"apps:app:tag\"}\n", ""},
		"words after the marker":        {"a.yaml", "a: x # {\"$imagepolicy\": \"apps:app:tag\"} see ADR 7\n", "a: 1.1.0 # {\"$imagepolicy\": \"apps:app:tag\"} see ADR 7\n", ""},
		"a policy that nobody has":      {"a.yaml", "a: x # {\"$imagepolicy\": \"apps:nobody\"}\n", "", ""},
		"a comment about markers":       {"a.yaml", "a: x # write {\"$imagepolicy\": \"apps:app\"}\n", "", ""},
		"a marker in a text":            {"a.yaml", "a: |\n  image: x # {\"$imagepolicy\": \"apps:app\"}\n", "", ""},
		"current already":               {"a.yaml", "a: 1.1.0 # {\"$imagepolicy\": \"apps:app:tag\"}\n", "", ""},
		"not YAML":                      {"a.yaml", "a: [x # {\"$imagepolicy\": \"apps:app:tag\"}\n", "", "it is not valid YAML"},
		"a template":                    {"a.yaml", "{{ if .x }}\na: x # {\"$imagepolicy\": \"apps:app:tag\"}\n{{ end }}\n", "", "it is not valid YAML"},
		"escapes":                       {"a.yaml", "a: \"x\\ty\" # {\"$imagepolicy\": \"apps:app:tag\"}\n", "", "line 1: the value before the marker is not a simple text"},
		"a text of several lines":       {"a.yaml", "a: x\n  y # {\"$imagepolicy\": \"apps:app:tag\"}\n", "", "line 1: the value before the marker is not a simple text"},
		"an alias":                      {"a.yaml", "a: &x 1\nb: *x # {\"$imagepolicy\": \"apps:app:tag\"}\n", "", ""},
		"a file of another kind":        {"a.txt", "a: x # {\"$imagepolicy\": \"apps:app:tag\"}\n", "", ""},
		"no marker":                     {"a.yaml", "a: [x\n", "", ""},
		"HCL":                           {"a.tf", "locals {\n  image = \"x:1\" # {\"$imagepolicy\": \"apps:app\"}\n\ttag=\"1\"//{\"$imagepolicy\": \"apps:app:tag\"}\r\n}\n", "locals {\n  image = \"ghcr.io/acme/app:1.1.0\" # {\"$imagepolicy\": \"apps:app\"}\n\ttag=\"1.1.0\"//{\"$imagepolicy\": \"apps:app:tag\"}\r\n}\n", ""},
		"variables":                     {"prod.tfvars", "images = [\n  \"x:1\", # {\"$imagepolicy\": \"apps:app\"}\n  \"\" /* {\"$imagepolicy\": \"apps:app\"} */\n]\n", "images = [\n  \"ghcr.io/acme/app:1.1.0\", # {\"$imagepolicy\": \"apps:app\"}\n  \"\" /* {\"$imagepolicy\": \"apps:app\"} */\n]\n", ""},
		"a template in HCL":             {"a.tofu", "a = \"x:${var.tag}\" # {\"$imagepolicy\": \"apps:app\"}\n", "", "line 1: what precedes the marker is not a text"},
		"a number in HCL":               {"a.hcl", "a = 1 # {\"$imagepolicy\": \"apps:app\"}\n", "", "line 1: what precedes the marker is not a text"},
		"a marker on a line of its own": {"a.tf", "a = \"x\"\n# {\"$imagepolicy\": \"apps:app\"}\n", "", "line 2: what precedes the marker is not a text"},
		"not HCL":                       {"a.tf", "a = \" # {\"$imagepolicy\": \"apps:app\"}\n", "", "it is not valid HCL"},
		"a marker in a heredoc":         {"a.tf", "a = <<X\nb # {\"$imagepolicy\": \"apps:app\"}\nX\n", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := testSetters(t)
			got := s.Edit(c.file, []byte(c.in))
			if diff := cmp.Diff(c.want, string(got.Content)); diff != "" {
				t.Error(diff)
			}
			if !strings.HasPrefix(got.Problem, c.problem) || (got.Problem == "") != (c.problem == "") {
				t.Errorf("the problem is %q", got.Problem)
			}
			if (len(got.Changes) > 0) != (c.want != "") {
				t.Errorf("%+v", got.Changes)
			}
			if c.want != "" {
				if again := s.Edit(c.file, got.Content); again.Content != nil {
					t.Errorf("a second pass writes %q", again.Content)
				}
			}
		})
	}
}

func TestChangesAndUnknownSetters(t *testing.T) {
	in := "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: apps}\nspec:\n  image: x:1 # {\"$imagepolicy\": \"apps:app\"}\n  sidecar: y:1 # {\"$imagepolicy\": \"apps:gone\"}\n"
	got := testSetters(t).Edit("web.yaml", []byte(in))
	want := []Change{{"x:1", "ghcr.io/acme/app:1.1.0", "apps:app", Object{"apps/v1", "Deployment", "apps", "web"}}}
	if diff := cmp.Diff(want, got.Changes); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"apps:gone"}, got.Unknown); diff != "" {
		t.Error(diff)
	}
}

func TestImagesThatNoFileMayHave(t *testing.T) {
	for _, image := range []Image{{"a\nb", "1", ""}, {"a", "1\"", ""}, {"a b", "1", ""}, {"${x}", "1", ""}, {"-a", "1", ""}} {
		if err := (&Setters{}).Add("n", "p", image); err == nil {
			t.Errorf("%q is accepted", image)
		}
	}
}

// Whatever a file has: nothing but the values changes, and a second pass changes nothing.
func FuzzEdit(f *testing.F) {
	for _, seed := range []string{"a: x # {\"$imagepolicy\": \"apps:app\"}\n", "a: [x, 'y' ] # {\"$imagepolicy\": \"apps:num:tag\"}\r\n---\n", "- !!str &a \"x\" # {\"$imagepolicy\": \"apps:app\"}",
		"a = \"x\" # {\"$imagepolicy\": \"apps:app\"}\n", "? a\n: b # {\"$imagepolicy\": \"apps:app\"}\n", "\ufeffa: x # {\"$imagepolicy\": \"apps:app\"}\n", "a: x\u2028b # {\"$imagepolicy\": \"apps:app\"}\n"} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, content []byte, yaml bool) {
		s, name := testSetters(t), "a.tf"
		if yaml {
			name = "a.yaml"
		}
		got := s.Edit(name, content)
		if strings.Contains(got.Problem, "bug") {
			t.Logf("%q", got.Problem)
		}
		if got.Content == nil {
			return
		}
		if again := s.Edit(name, got.Content); again.Content != nil {
			t.Errorf("%q becomes %q, and then %q", content, got.Content, again.Content)
		}
	})
}
