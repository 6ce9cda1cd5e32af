// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package modules_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/testkit/s3test"
	"github.com/yuba-dev/yuba/internal/testkit/ssmtest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// world is a directory with a copy of the modules, and the services that they use.
type world struct {
	t       *testing.T
	modules string
	tofu    string
	env     []string
	ssm     *ssmtest.Server
	s3      *s3test.Server
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, modules: filepath.Join(t.TempDir(), "modules"), tofu: tofutest.Tofu(t)}
	if err := os.CopyFS(w.modules, os.DirFS(filepath.Join(tofutest.RepositoryRoot(t), "modules"))); err != nil {
		t.Fatal(err)
	}
	rc := filepath.Join(t.TempDir(), "tofurc")
	mirror := fmt.Sprintf("provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", tofutest.AWSMirror(t))
	if err := os.WriteFile(rc, []byte(mirror), 0o600); err != nil {
		t.Fatal(err)
	}
	w.env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "TF_CLI_CONFIG_FILE=" + rc, "TF_IN_AUTOMATION=1"}
	return w
}

func (w *world) withSSM() *world {
	w.ssm = ssmtest.New(w.t)
	w.env = append(w.env, w.ssm.Environment()...)
	return w
}

func (w *world) withS3() *world {
	w.s3 = s3test.New(w.t, "configurations")
	w.withSSM() // its STS: the provider asks who it is
	w.env = append(append(w.env, w.s3.Environment()...), "TF_VAR_bucket="+w.s3.Bucket)
	return w
}

// run runs tofu in a directory below the modules.
func (w *world) run(dir string, args ...string) (string, error) {
	cmd := exec.Command(w.tofu, args...)
	cmd.Dir, cmd.Env = filepath.Join(w.modules, dir), w.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// apply applies a program and returns its outputs.
func (w *world) apply(dir string) map[string]any {
	w.t.Helper()
	for _, args := range [][]string{{"init", "-input=false", "-no-color"}, {"apply", "-auto-approve", "-input=false", "-no-color"}} {
		if out, err := w.run(dir, args...); err != nil {
			w.t.Fatalf("tofu %s in %s: %v\n%s", args[0], dir, err, out)
		}
	}
	out, err := w.run(dir, "output", "-json")
	if err != nil {
		w.t.Fatal(err, out)
	}
	var outputs map[string]struct{ Value any }
	if err := json.Unmarshal([]byte(out), &outputs); err != nil {
		w.t.Fatal(err, out)
	}
	values := map[string]any{}
	for name, o := range outputs {
		values[name] = o.Value
	}
	return values
}

// unchanged fails unless another plan is empty.
func (w *world) unchanged(dir string) {
	w.t.Helper()
	if out, err := w.run(dir, "plan", "-detailed-exitcode", "-input=false", "-no-color"); err != nil {
		w.t.Fatalf("the second plan of %s has changes: %v\n%s", dir, err, out)
	}
}

// program writes a program beside the examples and returns its directory.
func (w *world) program(name, text string) string {
	w.t.Helper()
	dir := filepath.Join(w.modules, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return name
}

func equal(t *testing.T, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal("(-want +got)\n" + diff)
	}
}

// TestSSMDocuments: what one stack writes, another reads by regular expression; a document that is not
// there is no error, and is read when it is there.
func TestSSMDocuments(t *testing.T) {
	w := newWorld(t).withSSM()
	w.apply("ssm_json_store/examples/write")
	w.unchanged("ssm_json_store/examples/write")
	equal(t, slices.Collect(maps.Keys(w.ssm.Values())), []string{"/configuration/base"})
	equal(t, w.apply("ssm_json_store/examples/read"), map[string]any{"vpc": "vpc-0a1b2c3d"})
	// The name "upstream2" contains a name that the expression matches, and is another document.
	for _, name := range []string{"upstream", "upstream2"} {
		w.apply(w.program(name, fmt.Sprintf(`
module "ssm_service_data" {
  source = "../ssm_json_store"
  path   = "/configuration"
  name   = %q
  data = {
    installed = true
    public    = { sns = { foo = { arn = "arn:of:%[1]s" } } }
  }
}`, name)))
	}
	equal(t, w.apply("ssm_json_store/examples/read"), map[string]any{"vpc": "vpc-0a1b2c3d", "subscribed": "arn:of:upstream"})
	w.unchanged("ssm_json_store/examples/read")
	if out, err := w.run("upstream", "destroy", "-auto-approve", "-no-color"); err != nil {
		t.Fatal(out)
	}
	equal(t, w.apply("ssm_json_store/examples/read"), map[string]any{"vpc": "vpc-0a1b2c3d"})
}

// TestSSMDocumentsAreSensitive: unless a program says nonsensitive(), tofu does not show them.
func TestSSMDocumentsAreSensitive(t *testing.T) {
	w := newWorld(t).withSSM()
	w.apply("ssm_json_store/examples/write")
	for _, module := range []string{"ssm_json_store", "ssm_json_regex", "ssm_full_json_store"} {
		dir := w.program("reader-"+module, fmt.Sprintf(`
module "data" {
  source               = "../%s"
  path                 = "/configuration"
  include_filter_regex = "base"
}
output "vpc" { value = module.data.values["base"]["networking"]["vpc_id"] }
`, module))
		if out, err := w.run(dir, "init", "-no-color"); err != nil {
			t.Fatal(out)
		}
		if out, err := w.run(dir, "plan", "-no-color"); err == nil || !strings.Contains(out, "sensitive") || strings.Contains(out, "vpc-0a1b2c3d") {
			t.Errorf("%s: a root output of a value of the store must be refused as sensitive:\n%s", module, out)
		}
	}
}

// TestSSMLimits: a document that a parameter cannot hold is refused in the plan, before anything is
// written; one above 4 KB becomes an advanced parameter.
func TestSSMLimits(t *testing.T) {
	w := newWorld(t).withSSM()
	text := `
variable "text" {}
module "d" {
  source = "../ssm_json_store"
  path   = "/configuration"
  name   = "large"
  data   = { text = var.text }
}`
	dir := w.program("large", text)
	if out, err := w.run(dir, "init", "-no-color"); err != nil {
		t.Fatal(out)
	}
	for _, test := range []struct {
		letter  string
		count   int
		refused string
	}{
		{"a", 1000, ""},
		{"a", 8181, ""}, // 8192 bytes, with {"text":""}
		{"a", 1000, ""}, // an advanced parameter stays one
		{"a", 8182, "has 8193 bytes"},
		{"ö", 5000, "has 10011 bytes"}, // two bytes each
		{"{", 2, "contains {{"},
	} {
		out, err := w.run(dir, "apply", "-auto-approve", "-no-color", "-var", "text="+strings.Repeat(test.letter, test.count))
		out = strings.Join(strings.Fields(strings.ReplaceAll(out, "│", "")), " ")
		if (err == nil) != (test.refused == "") || !strings.Contains(out, test.refused) {
			t.Errorf("%d times %q: %v, want %q\n%s", test.count, test.letter, err, test.refused, out)
		}
	}
	equal(t, len(w.ssm.Values()["/configuration/large"]), 1011)
}

// TestSSMTree: many documents by one stack; names with slashes; more than a page; an excluded part.
func TestSSMTree(t *testing.T) {
	w := newWorld(t).withSSM()
	w.apply("ssm_full_json_store/examples/tree")
	many := w.program("many", `
module "d" {
  source    = "../ssm_full_json_store"
  path      = "/configuration"
  documents = merge({ for i in range(25) : "queue-${["orders", "test", "x"][i % 3]}${i < 3 ? "" : i}" => { arn = "arn:${i}" } })
}`)
	w.apply(many)
	// The first apply read the store before it wrote.
	equal(t, w.apply("ssm_full_json_store/examples/tree")["limits"], any(map[string]any{"team-a": 3.0}))
	w.unchanged("ssm_full_json_store/examples/tree")
	equal(t, w.apply("ssm_json_regex/examples/read"), map[string]any{"arns": map[string]any{"orders": "arn:0", "x": "arn:2"}})
	equal(t, len(w.ssm.Values()), 27)
}

// TestS3Documents: the same in a bucket, where documents may be large.
func TestS3Documents(t *testing.T) {
	w := newWorld(t).withS3()
	equal(t, w.apply("s3_json_store/examples/read"), map[string]any{"names": []any{}})
	equal(t, w.apply("s3_json_store/examples/write"), map[string]any{"key": "configuration/catalog.json"})
	w.unchanged("s3_json_store/examples/write")
	if n := len(w.s3.Object(t, "configuration/catalog.json")); n < 20_000 {
		t.Fatalf("the document has %d bytes", n)
	}
	equal(t, w.apply("s3_json_store/examples/read"), map[string]any{"names": []any{"catalog"}, "price": 9.99})
	w.unchanged("s3_json_store/examples/read")
	if out, err := w.run("s3_json_store/examples/write", "destroy", "-auto-approve", "-no-color"); err != nil {
		t.Fatal(out)
	}
	if w.s3.Object(t, "configuration/catalog.json") != nil {
		t.Fatal("the document is still there")
	}
}
