// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// configOf is a source of a few files.
func configOf(files map[string]string) func(dir string) map[string][]byte {
	return func(dir string) map[string][]byte {
		found := map[string][]byte{}
		for name, content := range files {
			if path.Dir(name) == dir && IsConfigFile(name) {
				found[path.Base(name)] = []byte(content)
			}
		}
		return found
	}
}

func readsOf(main string, more ...string) Reads {
	files := map[string]string{"stacks/a/main.tf": main, "modules/m/main.tf": `variable "in" { default = 1 }`}
	for i := 0; i < len(more); i += 2 {
		files[more[i]] = more[i+1]
	}
	return NewReader(configOf(files)).Of("stacks/a")
}

func TestProgramsWhoseFilesArePlainToSee(t *testing.T) {
	own := []string{"stacks/a"}
	for sentence, test := range map[string]struct {
		main string
		more []string
		dirs []string
	}{
		"one that reads nothing":           {main: `resource "terraform_data" "a" { input = "1..5, a...b and so on ..." }`, dirs: own},
		"a file beside it":                 {main: `output "o" { value = file("${path.module}/a/b.json") }`, dirs: own},
		"a file by its own name":           {main: `output "o" { value = file("b.json") }`, dirs: own},
		"a file below path.root":           {main: `output "o" { value = jsondecode(core::file("${path.root}/b.json")) }`, dirs: own},
		"a file by way of a local":         {main: "locals {\n base = \"${path.module}/files\"\n}\noutput \"o\" { value = file(\"${local.base}/b.json\") }", dirs: own},
		"files of a set":                   {main: "resource \"x\" \"a\" {\n for_each = fileset(path.module, \"files/**\")\n input = filemd5(\"${path.module}/${each.value}\")\n}", dirs: own},
		"files of a literal set":           {main: "locals {\n n = { a = \"x\", \"b\" = \"y\" }\n}\nresource \"x\" \"a\" {\n for_each = merge(local.n, {})\n input = file(\"${path.module}/p/${each.key}-${each.value.z}.json\")\n}", dirs: own},
		"files in a for":                   {main: "output \"o\" { value = { for k, f in toset([\"a\", \"b\"]) : k => file(\"${path.module}/${f}.txt\") } }", dirs: own},
		"files in a dynamic block":         {main: "resource \"x\" \"a\" {\n dynamic \"rule\" {\n for_each = [\"a\"]\n content { text = file(\"${path.module}/${rule.value}\") }\n }\n}", dirs: own},
		"a file for each workspace":        {main: `output "o" { value = file("${path.module}/${terraform.workspace}.json") }`, dirs: own},
		"a path for a provider":            {main: `data "archive_file" "z" { source_dir = "${path.module}/src" }`, dirs: own},
		"a local module":                   {main: `module "m" { source = "../../modules/m" }`, dirs: []string{"modules/m", "stacks/a"}},
		"a module of a module":             {main: `module "m" { source = "../../modules/n" }`, more: []string{"modules/n/main.tf", `module "m" { source = "../m" }`}, dirs: []string{"modules/m", "modules/n", "stacks/a"}},
		"many calls of a module":           {main: strings.Repeat("module \"m\" { source = \"../../modules/m\" }\n", 2*maxCalls), dirs: []string{"modules/m", "stacks/a"}},
		"a resource of a harmless kind":    {main: `resource "shelly_script" "x" {}`, dirs: own},
		"an override that is as plain":     {main: "locals {\n f = \"x\"\n}\noutput \"o\" { value = file(\"${path.module}/${local.f}\") }", more: []string{"stacks/a/a_override.tf", "locals {\n f = \"y\"\n}"}, dirs: own},
		"many files by way of locals":      {main: "locals {\n a = \"${path.module}/x\"\n b = [for n in [\"p\", \"q\"] : \"${n}.json\"]\n}\noutput \"o\" { value = [" + strings.Repeat("file(\"${local.a}/${local.b[0]}\"), ", 2000) + "] }", dirs: own},
		"a for in what a for goes through": {main: "output \"o\" { value = [for f in [for f in fileset(path.module, \"*\") : f] : file(\"${path.module}/${f}\")] }", dirs: own},
		"a module below it":                {main: `module "m" { source = "./m" }`, more: []string{"stacks/a/m/main.tf", ""}, dirs: own},
		"modules that call each other":     {main: `module "m" { source = "../b" }`, more: []string{"stacks/b/main.tf", `module "a" { source = "../a" }`}, dirs: []string{"stacks/a", "stacks/b"}},
		"values beside it":                 {main: `variable "v" {}`, more: []string{"stacks/a/terraform.tfvars", `v = "x"`, "stacks/a/x.auto.tfvars.json", `{"v": "./x"}`}, dirs: own},
	} {
		t.Run(sentence, func(t *testing.T) {
			reads := readsOf(test.main, test.more...)
			if reads.Whole != "" || len(reads.World) > 0 {
				t.Fatalf("whole: %s, world: %s", reads.Whole, reads.World)
			}
			if diff := cmp.Diff(test.dirs, reads.Dirs); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestWaysToReadAFileElsewhere has a way on each line; every one of them must make the whole source
// count.
func TestWaysToReadAFileElsewhere(t *testing.T) {
	output := func(e string) string { return "output \"o\" {\n  value = " + e + "\n}\n" }
	local := func(l, e string) string { return "locals {\n  " + l + "\n}\n" + output(e) }
	for sentence, main := range map[string]string{
		"up and over":                       output(`file("../b/x")`),
		"up from the module":                output(`file("${path.module}/../b/x")`),
		"up from the root":                  output(`file("${path.root}/../b/x")`),
		"two ends of a name":                output(`file("${path.module}x/secret")`),
		"the module's path in the middle":   output(`file("a${path.module}/x")`),
		"the directory above":               output(`file("${dirname(path.module)}/b/x")`),
		"the absolute path":                 output(`file("${abspath(path.module)}/x")`),
		"the absolute path, with namespace": output(`file("${core::abspath(path.module)}/x")`),
		"the working directory":             output(`path.cwd`),
		"the working directory by index":    output(`path["cwd"]`),
		"the home directory":                output(`pathexpand("~/x")`),
		"an absolute path":                  output(`file("/srv/x")`),
		"the home directory of file":        output(`file("~/x")`),
		"a path in pieces":                  output(`file(join("", [".", "./b/x"]))`),
		"a path in two pieces of a text":    local("dot = \".\"", `file("${local.dot}./b/x")`),
		"a path in pieces of a name":        local("up = \"x/.\"", `file("${local.up}./b/x")`),
		"a path in a local":                 local("p = \"../b/x\"", `file(local.p)`),
		"a path by way of locals":           local("a = local.b\n  b = local.c\n  c = replace(\"xx/b\", \"x\", \".\")", `file(local.a)`),
		"a local that is itself":            local("a = local.a", `file(local.a)`),
		"a path that is decoded":            output(`file(base64decode("Li4vYi94"))`),
		"a path that is formatted":          output(`file(format("%s.%s", "", "./b/x"))`),
		"a path with an escape":             output(`file("\u002e\u002e/b/x")`),
		"a path from a resource":            "resource \"x\" \"y\" {}\n" + output(`file(x.y.path)`),
		"a path from a data source":         output(`file(data.x.y.path)`),
		"a path from a module":              "module \"m\" {\n  source = \"../../modules/m\"\n}\n" + output(`file(module.m.path)`),
		"a set of files elsewhere":          output(`fileset("${path.module}/..", "*")`),
		"a pattern that leaves":             output(`fileset(path.module, "../*")`),
		"a pattern that is computed":        output(`fileset(path.module, join("/", ["a"]))`),
		"a template elsewhere":              output(`templatefile("../b/x.tftpl", {})`),
		"arguments of a list":               output(`file(["../x"]...)`),
		"a heredoc":                         output("file(<<E\n../b/x\nE\n)"),
		"a choice":                          output(`file(var.x ? "${path.module}/x" : "../x")`),
		"the module's path cut":             output(`file("${trimsuffix(path.module, "x")}/x")`),
		"the module's path joined":          output(`file(join("/", [path.module, "x"]))`),
		"a text rendered":                   output(`templatestring(local.t, {})`),
		"each of what is not known":         "resource \"x\" \"a\" {\n  for_each = data.x.y.names\n  input = file(\"${path.module}/${each.value}\")\n}",
		"a for over itself":                 output(`[for f in f : file(f)]`),
		"a path for a provider":             "resource \"local_file\" \"x\" {\n  source = \"../b/x\"\n}",
		"the parent alone":                  "data \"kustomization_build\" \"x\" {\n  path = \"..\"\n}",
		"a provisioner":                     "resource \"x\" \"a\" {\n  provisioner \"local-exec\" {\n    command = \"./x\"\n  }\n}",
		"an external program":               "data \"external\" \"x\" {\n  program = [\"./x\"]\n}",
		"a shell":                           "data \"shell_script\" \"x\" {}",
		"a shell of a resource":             "resource \"shell_script\" \"x\" {}",
		"a compiler":                        "resource \"ko_build\" \"x\" {\n  importpath = \"./cmd\"\n}",
		"locals that no one can follow":     manyWays(8, 100),
		"the name of a for outside":         "output \"o\" {\n  value = [for f in data.x.y.names : [for f in fileset(path.module, f) : file(\"${path.module}/${f}\")]]\n}",
		"a program in a check":              "check \"c\" {\n  data \"external\" \"x\" {}\n}",
		"encryption by a program":           "terraform {\n  encryption {\n    key_provider \"external\" \"x\" {\n      command = [\"./x\"]\n    }\n  }\n}",
		"a module of an archive":            "module \"m\" {\n  source = \"./m.zip//x\"\n}",
		"a module that is computed":         "module \"m\" {\n  source = \"../../modules/${var.x}\"\n}",
		"a module without a source":         "module \"m\" {}",
		"a module outside of the source":    "module \"m\" {\n  source = \"../../../m\"\n}",
		"a module that is not there":        "module \"m\" {\n  source = \"../nowhere\"\n}",
		"a block of another kind":           "list \"x\" \"y\" {}",
		"a mistake":                         "output \"o\" {",
		"a default":                         "variable \"p\" {\n  default = \"../b/x\"\n}",
	} {
		t.Run(sentence, func(t *testing.T) {
			if reads := readsOf(main); reads.Whole == "" {
				t.Errorf("only %s count", reads.Dirs)
			}
		})
	}
	for sentence, more := range map[string][]string{
		"values that leave":             {"stacks/a/terraform.tfvars", `p = "../x"`},
		"values in JSON that leave":     {"stacks/a/x.auto.tfvars.json", `{"p": "../x"}`},
		"configuration in JSON":         {"stacks/a/x.tf.json", `{}`},
		"a local that is overridden":    {"stacks/a/more.tf", local("f = \"x\"", `file(local.f)`), "stacks/a/a_override.tf", "locals {\n  f = data.x.y.path\n}"},
		"a shadowed local":              {"stacks/a/x.tf", local("f = data.x.y.path", `file(local.f)`), "stacks/a/x.tofu", local("f = \"x\"", `file(local.f)`)},
		"more modules than anybody has": {"stacks/a/more.tf", manyModules()},
		"a shadowed file":               {"stacks/a/x.tf", output(`file("../x")`), "stacks/a/x.tofu", ""},
		"an override":                   {"stacks/a/x_override.tf", output(`file("../x")`)},
		"another file of the module":    {"stacks/a/more.tofu", output(`file("../x")`)},
		"a module that reads up":        {"stacks/a/more.tf", "module \"m\" {\n  source = \"../../modules/n\"\n}", "modules/n/main.tf", output(`file("${path.module}/../x")`)},
		"a module whose variable says":  {"stacks/a/more.tf", "module \"m\" {\n  source = \"../../modules/n\"\n  f = \"x\"\n}", "modules/n/main.tf", output(`file("${path.module}/${var.f}")`)},
	} {
		t.Run(sentence, func(t *testing.T) {
			if reads := readsOf("", more...); reads.Whole == "" {
				t.Errorf("only %s count", reads.Dirs)
			}
		})
	}
}

func TestWhatIsReadOfTheWorldWhilePlanning(t *testing.T) {
	for sentence, test := range map[string]struct {
		main string
		more []string
		want []string
	}{
		"an answer of a server":       {main: "\ndata \"http\" \"ip\" {\n}", want: []string{"data.http.ip at stacks/a/main.tf:2"}},
		"the clock":                   {main: "output \"o\" { value = timestamp() }", want: []string{"timestamp() at stacks/a/main.tf:1"}},
		"the clock, with a namespace": {main: "output \"o\" { value = core::plantimestamp() }", want: []string{"plantimestamp() at stacks/a/main.tf:1"}},
		"chance":                      {main: "locals { a = \"x-${uuid()}\" }", want: []string{"uuid() at stacks/a/main.tf:1"}},
		"a salt":                      {main: "locals { a = [for p in [1] : bcrypt(p)] }", want: []string{"bcrypt() at stacks/a/main.tf:1"}},
		"a function of a provider":    {main: "locals { a = provider::time::now() }", want: []string{"provider::time::now() at stacks/a/main.tf:1"}},
		"a pure function of the tool": {main: "locals { a = provider::terraform::encode_expr(1) }"},
		"another stack's outputs":     {main: "data \"terraform_remote_state\" \"n\" {}", want: []string{"data.terraform_remote_state.n at stacks/a/main.tf:1"}},
		"a parameter":                 {main: "data \"aws_ssm_parameter\" \"n\" {}", want: []string{"data.aws_ssm_parameter.n at stacks/a/main.tf:1"}},
		"what a provider knows":       {main: "data \"aws_ami\" \"n\" {}"},
		"an absolute path":            {main: "locals { a = file(\"/etc/hostname\") }", want: []string{"file() of /etc/hostname at stacks/a/main.tf:1"}},
		"a computed module":           {main: "module \"m\" { source = \"a/${local.b}/c\" }", want: []string{"remote module.m at stacks/a/main.tf:1"}},
		"an ephemeral secret":         {main: "ephemeral \"vault_kv_secret_v2\" \"s\" {}", want: []string{"ephemeral.vault_kv_secret_v2.s at stacks/a/main.tf:1"}},
		"in a local module": {main: "module \"m\" { source = \"../b\" }", more: []string{"stacks/b/b.tf", "check \"c\" {\n data \"http\" \"ip\" {}\n}"},
			want: []string{"data.http.ip at stacks/b/b.tf:2"}},
		"in JSON": {more: []string{"stacks/a/x.tf.json", `{"data": {"http": {"x": {}}, "aws_ami": {}}, "module": {"m": {"source": "../b"}}, "locals": {"t": "${timestamp()}"}}`,
			"stacks/b/main.tf", "locals { a = uuid() }"},
			want: []string{"timestamp() at stacks/a/x.tf.json:1", "data.http at stacks/a/x.tf.json:1", "uuid() at stacks/b/main.tf:1"}},
		"in JSON, ephemeral":  {more: []string{"stacks/a/x.tf.json", `{"ephemeral": {"vault_kv_secret_v2": {"s": {}}}}`}, want: []string{"ephemeral.vault_kv_secret_v2 at stacks/a/x.tf.json:1"}},
		"in JSON, in a check": {more: []string{"stacks/a/x.tf.json", `{"check": {"c": {"data": {"http": {"x": {}}}}}}`}, want: []string{"data.http at stacks/a/x.tf.json:1"}},
		"in JSON, a module that is computed": {more: []string{"stacks/a/x.tf.json", `{"module": {"m": {"source": "./${var.m}"}}}`},
			want: []string{"remote module.m at stacks/a/x.tf.json:1"}},
		"in JSON of another form": {more: []string{"stacks/a/x.tf.json", `[{"data": {"http": {}}}]`}, want: []string{"configuration in JSON at stacks/a/x.tf.json:1"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(test.want, readsOf(test.main, test.more...).World); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestVariablesThatNameFilesAreTold(t *testing.T) {
	reads := readsOf("locals { f = \"${var.env}.json\" }\noutput \"o\" { value = [file(\"${path.module}/${local.f}\"), file(\"${path.module}/${var.region}\")] }")
	if reads.Whole != "" || !slices.Equal(reads.Variables, []string{"env", "region"}) {
		t.Errorf("%+v", reads)
	}
}

func TestTemplatesAreTold(t *testing.T) {
	reads := readsOf("module \"b\" { source = \"../b\" }\nlocals { a = templatefile(\"${path.module}/x.tftpl\", {}) }\nlocals { b = templatefile(\"y.tftpl\", {}) }",
		"stacks/b/main.tf", "locals { a = templatefile(\"${path.module}/t/z.tftpl\", {}) }\nlocals { b = templatefile(\"${path.root}/r.tftpl\", {}) }")
	if diff := cmp.Diff([]string{"stacks/a/r.tftpl", "stacks/a/x.tftpl", "stacks/a/y.tftpl", "stacks/b/t/z.tftpl"}, reads.Templates); diff != "" || reads.AnyTemplate || reads.Whole != "" {
		t.Errorf("any %v, whole %q, (-want +got):\n%s", reads.AnyTemplate, reads.Whole, diff)
	}
	if reads := readsOf("locals { a = templatefile(\"${path.module}/${terraform.workspace}.tftpl\", {}) }"); !reads.AnyTemplate {
		t.Errorf("%+v", reads)
	}
}

func TestMoreTemplatesThanAnybodyHasAreAnyTemplate(t *testing.T) {
	var main strings.Builder
	for i := range maxTemplates + 5 {
		fmt.Fprintf(&main, "locals {\n  t%d = templatefile(\"%d.tftpl\", {})\n}\n", i, i)
	}
	if reads := readsOf(main.String()); !reads.AnyTemplate || len(reads.Templates) != maxTemplates {
		t.Errorf("any %v, %d", reads.AnyTemplate, len(reads.Templates))
	}
}

// manyWays are locals that name each other many times, so that there are more ways through them
// than anybody can go.
func manyWays(depth, width int) string {
	var text strings.Builder
	text.WriteString("output \"o\" {\n  value = file(local.l0)\n}\nlocals {\n")
	for i := range depth {
		fmt.Fprintf(&text, "  l%d = \"%s\"\n", i, strings.Repeat(fmt.Sprintf("${local.l%d}", i+1), width))
	}
	fmt.Fprintf(&text, "  l%d = \"x\"\n}\n", depth)
	return text.String()
}

func manyModules() string {
	var text strings.Builder
	for i := range maxCalls + 1 {
		fmt.Fprintf(&text, "module \"m%d\" {\n  source = \"./%d\"\n}\n", i, i)
	}
	return text.String()
}

func TestFilesFromElsewhereMakeTheWholeSourceCount(t *testing.T) {
	reads := NewReader(configOf(map[string]string{"a/main.tf": ""})).With("a", map[string][]byte{"main.tf": []byte("locals { a = timestamp() }")})
	if reads.Whole == "" || len(reads.World) != 1 {
		t.Errorf("%+v", reads)
	}
}

func TestModulesFromElsewhereAreTold(t *testing.T) {
	reads := readsOf("module \"m\" { source = \"a/b/c\" }\nmodule \"own\" { source = \"../b\" }",
		"stacks/b/main.tf", "module \"g\" {\n source = \"git::https://example.com/g.git?ref=v1\"\n version = \"1.0.0\"\n}")
	want := []RemoteCall{
		{Call{Source: "a/b/c"}, "m", Position{File: "stacks/a/main.tf", Line: 1}},
		{Call{Source: "git::https://example.com/g.git?ref=v1", Version: "1.0.0"}, "g", Position{File: "stacks/b/main.tf", Line: 1}},
	}
	if diff := cmp.Diff(want, reads.Elsewhere); diff != "" || reads.Whole != "" || len(reads.World) > 0 || !slices.Equal(reads.Dirs, []string{"stacks/a", "stacks/b"}) {
		t.Errorf("%+v, (-want +got):\n%s", reads, diff)
	}
	// These may be directories of the machine, or anything.
	for _, source := range []string{"", "/srv/m", "~/m", "./m?x", "./m//n", "../m\\\\n", "a\\\\b", "${var.m}"} {
		for _, reads := range []Reads{readsOf("module \"m\" { source = \"" + source + "\" }"), readsOf("module \"m\" {\n source = \"a/b/c\"\n version = \"${local.v}\"\n}")} {
			if len(reads.Elsewhere) > 0 || reads.Whole == "" {
				t.Errorf("%q: %+v", source, reads)
			}
		}
	}
	joined := NewReader(configOf(nil)).With("a", map[string][]byte{"main.tf": []byte("module \"m\" { source = \"a/b/c\" }")})
	if !slices.Equal(joined.World, []string{"remote module.m at a/main.tf:1"}) {
		t.Errorf("%+v", joined)
	}
}

func TestWhatModulesFromElsewhereRead(t *testing.T) {
	for sentence, test := range map[string]struct {
		main string
		want Foreign
	}{
		"nothing":                      {"resource \"terraform_data\" \"a\" {}\nmodule \"x\" { source = \"../x\" }", Foreign{}},
		"a file of its own":            {"locals { a = file(\"${path.module}/x.json\") }", Foreign{Files: true}},
		"a path for a provider":        {"resource \"x\" \"a\" { dir = path.module }", Foreign{Files: true}},
		"a path that is written out":   {"resource \"x\" \"a\" { dir = \".terraform/modules/m\" }", Foreign{Files: true}},
		"a file of the root module":    {"locals { a = file(\"${path.root}/x.json\") }", Foreign{Files: true}},
		"a template of its own":        {"locals { a = templatefile(\"${path.module}/x.tftpl\", {}) }", Foreign{Files: true, Templates: []string{"x.tftpl"}}},
		"the clock":                    {"locals { a = timestamp() }", Foreign{World: []string{"timestamp() at m/main.tf:1"}}},
		"a file beside the root":       {"locals { a = file(\"${path.root}/../x.json\") }", Foreign{Files: true, Whole: "m/main.tf:1: the file that file() reads cannot be determined"}},
		"a file named by a variable":   {"locals { a = file(\"${path.module}/${var.f}\") }", Foreign{Files: true, Whole: "m/main.tf:1: var.f, a module's variable, decides which file is read"}},
		"a template of the root":       {"locals { a = templatefile(\"${path.root}/x.tftpl\", {}) }", Foreign{Files: true, Templates: []string{"x.tftpl"}, Whole: "m renders the template x.tftpl of the root module"}},
		"a template of some name":      {"locals { a = templatefile(\"${path.module}/${terraform.workspace}\", {}) }", Foreign{Files: true, Whole: "m renders templates that cannot be determined"}},
		"the output of a program":      {"data \"external\" \"x\" {}", Foreign{World: []string{"data.external.x at m/main.tf:1"}, Whole: "m/main.tf:1: data.external.x runs a program, which can read anything"}},
		"the tool's current directory": {"locals { a = path.cwd }", Foreign{Files: true, Whole: "m/main.tf:1: path.cwd is not a path inside of the source"}},
	} {
		if diff := cmp.Diff(test.want, ReadForeign("m", map[string][]byte{"main.tf": []byte(test.main)})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", sentence, diff)
		}
	}
	for name, files := range map[string]map[string][]byte{"nothing to look into": nil, "JSON": {"x.tf.json": []byte("{}")}, "mistakes": {"main.tf": []byte("{")}} {
		if f := ReadForeign("m", files); f.Whole == "" {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

func FuzzReads(f *testing.F) {
	f.Add("main.tf", []byte("module \"m\" { source = \"./m\" }\nlocals { a = [for x in fileset(path.module, \"*\") : templatefile(\"${path.module}/${x}\", { a = path.root })] }"))
	f.Add("main.tf.json", []byte(`{"module":{"m":{"source":"./m"}},"data":{"http":{}}}`))
	f.Add("x.auto.tfvars", []byte("a = \"..\""))
	f.Fuzz(func(t *testing.T, name string, src []byte) {
		if !IsConfigFile(name) {
			return
		}
		reads := NewReader(func(string) map[string][]byte { return map[string][]byte{path.Base(name): src} }).Of(".")
		if strings.Contains(reads.Whole, "bug in Yuba") {
			t.Fatal(reads.Whole)
		}
	})
}
