// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
	"github.com/yuba-dev/yuba/internal/tofu/inputs"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// aTree is a source with two stacks and a module that both use.
func aTree() map[string]string {
	return map[string]string{
		"stacks/a/main.tf":             "module \"m\" {\n  source = \"../../modules/m\"\n}\n",
		"stacks/a/files/x.json":        "{}",
		"stacks/b/main.tf":             "output \"b\" { value = 1 }\n",
		"modules/m/main.tf":            "output \"t\" { value = file(\"${path.module}/t.txt\") }\n",
		"modules/m/t.txt":              "text",
		"modules/m/README.md":          "See ../../README.md",
		"modules/m/examples/x.tf":      "module \"m\" { source = \"../\" }",
		"vars/a.tfvars":                "v = 1\n",
		"README.md":                    "read me",
		"stacks/a-b/main.tf":           "",
		"modules/other/main.tf":        "",
		"stacks/a/binary":              "\xff\xfe ../",
		"stacks/a/.terraform.lock.hcl": "# a lock file",
	}
}

// writeTree writes files; "-> target" makes a link, and a name that ends in "*" an executable file.
func writeTree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		full := filepath.Join(dir, strings.TrimSuffix(name, "*"))
		if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
			t.Fatal(err)
		}
		mode := os.FileMode(0o600)
		if strings.HasSuffix(name, "*") {
			mode = 0o700
		}
		var err error
		if target, link := strings.CutPrefix(content, "-> "); link {
			err = os.Symlink(target, full)
		} else {
			err = os.WriteFile(full, []byte(content), mode)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// partOf is the part that counts for the root module in stacks/a.
func partOf(t testing.TB, files map[string]string, varFiles ...string) part {
	t.Helper()
	var packed bytes.Buffer
	digest, _, err := archive.Pack(t.Context(), writeTree(t, files), &packed, archive.PackOptions{})
	if err != nil {
		t.Fatal(err)
	}
	x, err := archive.ReadIndex(t.Context(), &packed, archive.Limits{}, digest, archive.IndexOptions{MaxFiles: maxTreeFiles, MaxKept: maxTreeKept, Mark: mark,
		Opaque: markOpaque, Keep: module.IsConfigFile})
	if err != nil {
		t.Fatal(err)
	}
	return newTree(x).part("stacks/a", varFiles)
}

func withFile(name, content string) map[string]string {
	files := aTree()
	files[name] = content
	return files
}

func TestACommitThatDoesNotTouchAStackChangesNothingForIt(t *testing.T) {
	before := partOf(t, aTree(), "vars/a.tfvars")
	if before.digest == "" {
		t.Fatalf("the whole source counts: %s", before.why)
	}
	for sentence, test := range map[string]struct {
		files   map[string]string
		touches bool
	}{
		"another stack":               {withFile("stacks/b/main.tf", "output \"b\" { value = 2 }"), false},
		"a stack more":                {withFile("stacks/c/main.tf", ""), false},
		"a stack of a longer name":    {withFile("stacks/a-b/main.tf", "# changed"), false},
		"a module that is not called": {withFile("modules/other/main.tf", "# changed"), false},
		"the source's own README":     {withFile("README.md", "changed"), false},
		"values of another stack":     {withFile("vars/b.tfvars", "v = 2"), false},
		"its own configuration":       {withFile("stacks/a/main.tf", aTree()["stacks/a/main.tf"]+"\n"), true},
		"a file of its own":           {withFile("stacks/a/files/x.json", "{ }"), true},
		"a file more":                 {withFile("stacks/a/files/y.json", "{}"), true},
		"its lock file":               {withFile("stacks/a/.terraform.lock.hcl", "# another"), true},
		"a file of its module":        {withFile("modules/m/t.txt", "another"), true},
		"its values":                  {withFile("vars/a.tfvars", "v = 2\n"), true},
		"the mode of a file":          {func() map[string]string { f := aTree(); f["stacks/a/run*"] = ""; return f }(), true},
	} {
		after := partOf(t, test.files, "vars/a.tfvars")
		if moved := after.digest != before.digest; moved != test.touches || after.why != "" {
			t.Errorf("%s: the digest moves: %v (%s)", sentence, moved, after.why)
		}
	}
	without := aTree()
	delete(without, "stacks/a/files/x.json")
	if partOf(t, without, "vars/a.tfvars").digest == before.digest {
		t.Error("a file that is gone does not count")
	}
}

func TestSourcesInWhichEverythingCounts(t *testing.T) {
	for sentence, files := range map[string]map[string]string{
		"a link out":                       withFile("stacks/a/x", "-> ../b/main.tf"),
		"a link to the directory above":    withFile("stacks/a/x", "-> .."),
		"a link to configuration":          withFile("stacks/a/x.tf", "-> files/x.json"),
		"a link in a module":               withFile("modules/m/x", "-> ../other/main.tf"),
		"a template that reads elsewhere":  alsoWith(withFile("stacks/a/x.tf", "locals { a = templatefile(\"${path.module}/t.tftpl\", {}) }"), "stacks/a/t.tftpl", "${file(\"x\")}"),
		"a template that leads elsewhere":  alsoWith(withFile("stacks/a/x.tf", "locals { a = templatefile(\"t.md\", {}) }"), "stacks/a/t.md", "see ../x"),
		"a template that is not there":     withFile("stacks/a/x.tf", "locals { a = templatefile(\"${path.module}/t.tftpl\", {}) }"),
		"any template":                     alsoWith(withFile("stacks/a/x.tf", "locals { a = templatefile(\"${path.module}/${terraform.workspace}.md\", {}) }"), "stacks/a/t.md", "see ../x"),
		"a document that names others":     withFile("stacks/a/overlay/kustomization.yaml", "resources:\n- ../../../base\n"),
		"a document that names the parent": withFile("stacks/a/kustomization.yaml", "resources: [..]\n"),
		"a chart that depends on another":  withFile("stacks/a/chart/Chart.yaml", "dependencies:\n- repository: file://../../lib\n"),
		"a module that is a link":          alsoWith(withFile("stacks/a/main.tf", "module \"m\" { source = \"../../modules/l\" }"), "modules/l", "-> m"),
		"nothing to look into":             withFile("stacks/a/main.tf", "{"),
	} {
		if p := partOf(t, files); p.digest != "" || p.why == "" {
			t.Errorf("%s: only %s counts", sentence, p.dirs)
		}
	}
	for sentence, name := range map[string]string{"values that are not there": "vars/b.tfvars", "values that are a link": "vars/l.tfvars", "values that lead elsewhere": "vars/up.tfvars"} {
		files := alsoWith(withFile("vars/l.tfvars", "-> a.tfvars"), "vars/up.tfvars", `v = "../x"`)
		if p := partOf(t, files, name); p.digest != "" {
			t.Errorf("%s: only %s counts", sentence, p.dirs)
		}
	}
	root := partOfRoot(t)
	if root.digest != "" {
		t.Errorf("of a root module at the root of its source, only %s counts", root.dirs)
	}
}

func partOfRoot(t *testing.T) part {
	t.Helper()
	x := &archive.Index{Files: []archive.IndexedFile{{Name: "main.tf"}}, Kept: map[string][]byte{"main.tf": nil}}
	return newTree(x).part("", nil)
}

func alsoWith(files map[string]string, name, content string) map[string]string {
	files[name] = content
	return files
}

func TestTemplatesThatReadTheWorldCount(t *testing.T) {
	p := partOf(t, alsoWith(withFile("stacks/a/x.tf", "locals { a = templatefile(\"${path.module}/t.tftpl\", {}) }"), "stacks/a/t.tftpl", "${timestamp()}"))
	if !slices.Equal(p.world, []string{"the template stacks/a/t.tftpl"}) || p.digest == "" {
		t.Errorf("%+v", p)
	}
}

func TestWhatIsReadOfTheWorldIsSeenAlsoWhereTheWholeSourceCounts(t *testing.T) {
	for sentence, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"configuration by way of a link": {alsoWith(withFile("stacks/a/x.tf", "-> ../../shared/x.tf"), "shared/x.tf", "data \"http\" \"ip\" {}"), "data.http.ip at stacks/a/x.tf:1"},
		"a template of another directory": {alsoWith(withFile("stacks/a/x.tf", "locals { a = templatefile(\"${path.module}/../../t/x.tftpl\", {}) }"), "t/x.tftpl", "${timestamp()}"),
			"the template t/x.tftpl"},
		"modules behind a link": {alsoWith(withFile("stacks/a/main.tf", "module \"m\" { source = \"./modules/m\" }"), "stacks/a/modules", "-> ../../modules"),
			"the module in stacks/a/modules/m, which cannot be inspected"},
	} {
		if p := partOf(t, test.files); p.digest != "" || !slices.Equal(p.world, []string{test.want}) {
			t.Errorf("%s: %+v", sentence, p)
		}
	}
	obj := stackObject()
	c := &Configuration{program: &Program{readModule: &readModule{module: &module.Module{}}},
		files: []run.File{{Location: run.FileInModule, Path: "m/main.tf"}, {Location: run.FileInModule, Path: "m/x.json"}, {Location: run.FileInHome, Path: "m/main.tf"}}}
	if err := c.setModule(obj, &inputs.Inputs{}); err != nil || c.Reading() != "the file m/main.tf, which is written into a module" {
		t.Errorf("%v, %q", err, c.Reading())
	}
}

func TestValuesThatMayBePathsMakeEverythingCount(t *testing.T) {
	for sentence, test := range map[string]struct {
		change func(*Configuration)
		narrow bool
	}{
		"none":            {func(*Configuration) {}, true},
		"harmless":        {func(c *Configuration) { c.variables["v"] = run.Variable{Value: json.RawMessage(`"a..b/c"`)} }, true},
		"a variable":      {func(c *Configuration) { c.variables["v"] = run.Variable{Value: json.RawMessage(`{"p":"../x"}`)} }, false},
		"an escape":       {func(c *Configuration) { c.variables["v"] = run.Variable{Value: json.RawMessage(`"\u002e\u002e/x"`)} }, false},
		"the environment": {func(c *Configuration) { c.env = []run.EnvVar{{Name: "P", Value: "../x"}} }, false},
		"a file":          {func(c *Configuration) { c.files = []run.File{{Location: run.FileInHome, Content: []byte("../x")}} }, false},
		"a file in it":    {func(c *Configuration) { c.files = []run.File{{Location: run.FileInModule}} }, false},
		"a file at home":  {func(c *Configuration) { c.files = []run.File{{Location: run.FileInHome}} }, true},
		"the backend":     {func(c *Configuration) { c.backend.Override = `path = "../x"` }, false},
		"a setting":       {func(c *Configuration) { c.backend.Settings = map[string]string{"path": "../x"} }, false},
		"the tool's own":  {func(c *Configuration) { c.cliConfig = []byte("../x") }, false},
		"a name": {func(c *Configuration) {
			c.part.variables = []string{"e"}
			c.variables["e"] = run.Variable{Value: json.RawMessage(`"prod"`)}
		}, true},
		"a name's default": {func(c *Configuration) { c.program.part.variables = []string{"e"} }, false},
		"a path for a name": {func(c *Configuration) {
			c.program.part.variables = []string{"e"}
			c.variables["e"] = run.Variable{Value: json.RawMessage(`"a/b"`)}
		}, false},
		"a name in a file of values": {func(c *Configuration) {
			c.program.part.variables = []string{"e"}
			c.variables["e"] = run.Variable{Value: json.RawMessage(`"prod"`)}
			c.fromVarFiles = map[string]module.Position{"e": {}}
		}, false},
		"a name in the environment": {func(c *Configuration) {
			c.program.part.variables = []string{"e"}
			c.variables["e"] = run.Variable{Value: json.RawMessage(`"prod"`)}
			c.env = []run.EnvVar{{Name: "TF_VAR_e", Value: "x"}}
		}, false},
	} {
		c := &Configuration{variables: map[string]run.Variable{}, program: &Program{artifact: run.Artifact{Digest: "sha256:a"},
			readModule: &readModule{module: &module.Module{}, part: part{digest: "sha256:part"}}}}
		test.change(c)
		if err := c.setPart(stackObject(), nil); err != nil || (c.part.digest != "") != test.narrow {
			t.Errorf("%s: %v, %+v", sentence, err, c.part)
		}
	}
}

// TestWhatTofuReadsCounts compares with the real tofu: a file that changes the plan must change the
// digest.
func TestWhatTofuReadsCounts(t *testing.T) {
	tofu := tofutest.Tofu(t)
	moved, spared := 0, 0
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, 11)) //nolint:gosec // a tree that can be made again
		files := randomTree(random)
		before, plan := partOf(t, files), toldByTofu(t, tofu, files)
		if before.digest != "" {
			// Runs get only the part.
			alone := maps.Clone(files)
			maps.DeleteFunc(alone, func(name, _ string) bool { return !before.has(name) })
			if told := toldByTofu(t, tofu, alone); told != plan {
				t.Errorf("tree %d: with its part alone it is planned as\n%s\ninstead of\n%s", seed, told, plan)
			}
		}
		names := slices.Sorted(maps.Keys(files))
		random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		for _, name := range names[:4] {
			changed := maps.Clone(files)
			changed[name] += "# changed\n"
			changed[name] = strings.ReplaceAll(changed[name], `input = "`, `input = "changed `)
			after := partOf(t, changed)
			same, counts := plan == toldByTofu(t, tofu, changed), before.digest == "" || after.digest != before.digest
			if !same && !counts {
				t.Errorf("tree %d: %s changes the plan and does not count:\n%s", seed, name, files["stacks/a/main.tf"])
			}
			if before.digest != "" && !same {
				moved++
			} else if !counts {
				spared++
			}
		}
	}
	if moved == 0 || spared == 0 {
		t.Errorf("%d changes in parts caused a plan and %d did not: this test proves nothing", moved, spared)
	}
}

// randomTree has a root module that reads files in many ways, some outside it.
func randomTree(random *rand.Rand) map[string]string {
	files := map[string]string{}
	for _, dir := range []string{"stacks/a", "stacks/b", "modules/m", "modules/n", "stacks/a/sub"} {
		files[dir+"/x.txt"], files[dir+"/y.txt"] = "x of "+dir, "y of "+dir
	}
	files["stacks/a/t.tftpl"] = []string{"plain", "${v}", "$", "${file(\"x.txt\")}", "${file(\"../b/x.txt\")}"}[random.IntN(5)]
	reads := []string{
		`file("${path.module}/x.txt")`, `file("x.txt")`, `filemd5("${path.root}/y.txt")`, `file("${path.module}/../b/x.txt")`,
		`join(",", [for f in fileset(path.module, "**/*.txt") : file("${path.module}/${f}")])`, `file("sub/x.txt")`,
		`templatefile("${path.module}/t.tftpl", { v = "v" })`, `file("${dirname(path.module)}/b/y.txt")`,
		`file(join("", [".", "./b/x.txt"]))`, `file("${local.dir}/x.txt")`, `fileexists("../../modules/n/x.txt")`,
		`join(",", [for f in ["b/x.txt"] : join(",", [for f in fileset(".${local.dot}", f) : f])])`, `fileexists("${local.up}/b/x.txt")`, `file("${local.over}")`,
		`join(",", fileset("${path.module}/${local.dot}${local.dot}", "b/*"))`,
	}
	resource := func() string {
		return "resource \"terraform_data\" \"r\" {\n  input = \"r ${" + reads[random.IntN(len(reads))] + "}\"\n}\nlocals {\n  dir = \"${path.module}/sub\"\n  dot = \".\"\n  up = format(\"%s%s\", \".\", \".\")\n  over = \"x.txt\"\n}\n"
	}
	call := func(source string) string {
		return "module \"m\" {\n  source = \"" + source + "\"\n}\n"
	}
	files["stacks/a/main.tf"] = resource()
	if random.IntN(2) == 0 {
		files["stacks/a/a_override.tf"] = "locals {\n  over = \"${local.up}/b/x.txt\"\n}\n"
	}
	if random.IntN(2) == 0 {
		files["stacks/a/main.tf"] += call("../../modules/m")
	}
	files["modules/m/main.tf"] = "resource \"terraform_data\" \"m\" {\n  input = \"m ${file(\"${path.module}/x.txt\")}\"\n}\n"
	if random.IntN(2) == 0 {
		files["modules/m/main.tf"] += call("../n")
	}
	files["modules/n/main.tf"] = "resource \"terraform_data\" \"n\" {\n  input = \"n\"\n}\n"
	return files
}

// toldByTofu is tofu's plan for the root module in stacks/a, or its failure.
func toldByTofu(t *testing.T, tofu string, files map[string]string) string {
	t.Helper()
	dir := writeTree(t, files)
	var text bytes.Buffer
	for _, args := range [][]string{{"init", "-input=false", "-no-color"}, {"plan", "-input=false", "-no-color"}} {
		cmd := exec.Command(tofu, args...)
		cmd.Dir = filepath.Join(dir, "stacks", "a")
		cmd.Env = []string{"HOME=" + dir, "CHECKPOINT_DISABLE=1"}
		text.Reset()
		cmd.Stdout, cmd.Stderr = &text, &text
		var exit *exec.ExitError
		if err := cmd.Run(); errors.As(err, &exit) {
			return "it cannot be planned"
		} else if err != nil {
			t.Fatal(err)
		}
	}
	return strings.ReplaceAll(text.String(), dir, "")
}

// Earlier versions recorded a digest of the whole archive; Whole must stay the same.
func TestTheDigestOfTheWholeArchiveStaysWhatItWas(t *testing.T) {
	before := &Configuration{variables: map[string]run.Variable{}, program: &Program{artifact: run.Artifact{Digest: "sha256:a"}, readModule: &readModule{module: &module.Module{}}}}
	obj := stackObject()
	now := *before
	now.part.digest = "sha256:part"
	if old := before.sum(obj); now.sumWith(obj, "sha256:a") != old || now.sum(obj) == old {
		t.Errorf("before %s, now %s and %s", old, now.sum(obj), now.sumWith(obj, "sha256:a"))
	}
}
