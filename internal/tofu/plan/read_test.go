// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the expected texts anew")

// fixtures are what the real tofu said about plans, except for those of
// providers that tests do not have.
func fixtures(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	return files
}

// secretsInFixtures are what no document and no text may contain.
var secretsInFixtures = []string{"hunter2", "hunter3", "topsecret", "correct horse", "old secret", "new secret"}

func TestRender(t *testing.T) {
	for _, file := range fixtures(t) {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(strings.ReplaceAll(name, "-", " "), func(t *testing.T) {
			show, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			described, err := Describe(show)
			if err != nil {
				t.Fatal(err)
			}
			document := described.Document
			p, err := Decode(document)
			if err != nil {
				t.Fatal(err)
			}
			text := Render(p, RenderOptions{})
			for _, secret := range secretsInFixtures {
				if strings.Contains(text, secret) || bytes.Contains(document, []byte(secret)) {
					t.Errorf("%q is shown", secret)
				}
			}
			if colored := Render(p, RenderOptions{Color: true}); !strings.Contains(colored, "\x1b[") || strings.Contains(text, "\x1b") {
				t.Error("colours are where they should not be, or the other way round")
			}
			golden := strings.TrimSuffix(file, ".json") + ".txt"
			if *update {
				if err := os.WriteFile(golden, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), text); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestADocumentSurvivesItsJSON(t *testing.T) {
	for _, file := range fixtures(t) {
		show, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		described, err := Describe(show)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Decode(described.Document)
		if err != nil {
			t.Fatal(err)
		}
		second, err := json.Marshal(again)
		if err != nil || !bytes.Equal(described.Document, second) {
			t.Errorf("%s: %v\n%s", file, err, cmp.Diff(string(described.Document), string(second)))
		}
	}
	marks := Value{kind: Object, object: map[string]Value{"$sensitive": {kind: Bool, text: "true"}, "$": {}, "$$unknown": {kind: List}}}
	raw, err := json.Marshal(marks)
	if err != nil {
		t.Fatal(err)
	}
	var got Value
	if err := json.Unmarshal(raw, &got); err != nil || !got.Equal(marks) {
		t.Errorf("%s: %v %+v", raw, err, got)
	}
}

func TestDescribeSaysWhatItCannotRead(t *testing.T) {
	for name, c := range map[string]struct{ show, want string }{
		"no JSON":        {"Warning: x", "not valid JSON"},
		"another format": {`{"format_version":"2.0"}`, `its format is "2.0"`},
	} {
		if _, err := Describe([]byte(c.show)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Decode([]byte(`{"version":99}`)); err == nil {
		t.Error("a document of the future is read")
	}
}

func (w *workdir) describe(args ...string) (*Plan, *Stream) {
	w.t.Helper()
	s := w.stream(append([]string{"plan", "-json", "-out=p"}, args...)...)
	return planOf(w.t, w.run("show", "-json", "p")), s
}

// planOf is a plan as its document has it.
func planOf(t *testing.T, show []byte) *Plan {
	t.Helper()
	described, err := Describe(show)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Decode(described.Document)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPlanAndStreamAgree holds what the plan says against what tofu's own
// events say about it.
func TestPlanAndStreamAgree(t *testing.T) {
	w := newWorkdir(t, twoResources)
	check := func(args ...string) *Plan {
		t.Helper()
		p, s := w.describe(args...)
		if p.Counts != s.Planned || p.HasChanges() != s.HasChanges() || len(p.Changes) != s.ChangesTotal {
			t.Errorf("%v: plan %+v %v, stream %+v %v", args, p.Counts, p.HasChanges(), s.Planned, s.HasChanges())
		}
		return p
	}
	first := check()
	w.run("apply", "-json", "p")
	if none := check(); none.HasChanges() {
		t.Errorf("%+v", none)
	}
	if replace := check("-var=n=1"); replace.ChangesDigest == first.ChangesDigest {
		t.Error("plans that differ have one digest")
	}
	check("-destroy")
	w.write(strings.ReplaceAll(strings.ReplaceAll(twoResources, `"terraform_data" "b"`, `"terraform_data" "c"`), "terraform_data.b", "terraform_data.c") +
		"moved {\n from = terraform_data.b\n to = terraform_data.c\n}\n")
	if move := check(); !move.HasChanges() || !move.Counts.Zero() {
		t.Errorf("%+v", move)
	}
}

func TestChangesDigest(t *testing.T) {
	w := newWorkdir(t, twoResources)
	one, _ := w.describe()
	two, _ := w.describe()
	if one.ChangesDigest != two.ChangesDigest || one.ChangesDigest == "" {
		t.Error("the same plan has two digests")
	}
	w.write("# Only a comment is new.\n" + twoResources)
	if three, _ := w.describe(); three.ChangesDigest != one.ChangesDigest {
		t.Error("a comment changes the digest")
	}
	w.write(strings.Replace(twoResources, "s3cr3t", "s3cr3t too", 1))
	if four, _ := w.describe(); four.ChangesDigest == one.ChangesDigest {
		t.Error("another secret value does not change the digest")
	}
}

func FuzzDescribe(f *testing.F) {
	for _, file := range fixtures(f) {
		show, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(show)
	}
	f.Add([]byte(`{"format_version":"1.0","resource_changes":[{"change":{"actions":["update"],"before":{"a":[1]},"after":{"a":"x"},"after_sensitive":{"a":[true]},"replace_paths":[["a",0]]}}]}`))
	f.Fuzz(func(t *testing.T, show []byte) {
		described, err := Describe(show)
		if err != nil {
			return
		}
		p, err := Decode(described.Document)
		if err != nil {
			t.Fatal(err)
		}
		if text := Render(p, RenderOptions{}); strings.Contains(text, "\x1b") {
			t.Errorf("escape sequence in %q", text)
		}
	})
}

func BenchmarkDescribe(b *testing.B) {
	show, err := os.ReadFile("testdata/updates-replacements-and-a-move.json")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := Describe(show); err != nil {
			b.Fatal(err)
		}
	}
}
