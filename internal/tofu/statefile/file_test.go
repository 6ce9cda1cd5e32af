// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package statefile

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseListsWhatTofuLists(t *testing.T) {
	module := newModule(t, "rich")
	module.Run("apply", "-auto-approve")
	file, err := Parse(module.State())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, resource := range file.Resources {
		got = append(got, resource.Address)
	}
	want := strings.Split(strings.TrimSpace(module.Run("state", "list")), "\n")
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("addresses (-tofu +ours):\n%s", diff)
	}
	if file.Encrypted || file.Serial == 0 || file.Lineage == "" || file.TerraformVersion == "" {
		t.Errorf("header: %+v", file)
	}
}

func TestPrintedOutputsAreWhatTofuPrints(t *testing.T) {
	module := newModule(t, "rich")
	module.Run("apply", "-auto-approve")
	file, err := Parse(module.State())
	if err != nil {
		t.Fatal(err)
	}
	got, err := file.PrintedOutputs()
	if err != nil {
		t.Fatal(err)
	}
	var document map[string]printed
	if err := json.Unmarshal([]byte(module.Run("output", "-json")), &document); err != nil {
		t.Fatal(err)
	}
	want := map[string]PrintedOutput{}
	for name, entry := range document {
		output := PrintedOutput{Value: entry.Value, Type: entry.Type, Sensitive: entry.Sensitive}
		if string(entry.Type) == `"string"` {
			output.IsString = true
			output.Value = []byte(module.Run("output", "-raw", name))
		}
		want[name] = output
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outputs (-tofu +ours):\n%s", diff)
	}
	parsed, err := ParsePrinted([]byte(module.Run("output", "-json")))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, parsed); diff != "" {
		t.Errorf("the printed document (-tofu +ours):\n%s", diff)
	}
	if len(got) < 15 {
		t.Errorf("only %d outputs", len(got))
	}
}

func TestShowMasksWhatIsSensitive(t *testing.T) {
	module := newModule(t, "rich")
	module.Run("apply", "-auto-approve")
	file, err := Parse(module.State())
	if err != nil {
		t.Fatal(err)
	}
	resource, ok := file.Resource("terraform_data.secret")
	if !ok {
		t.Fatal("terraform_data.secret is not there")
	}
	var shown bytes.Buffer
	if err := resource.Show(&shown); err != nil {
		t.Fatal(err)
	}
	// tofu itself shows the password in "output": no path of the state leads there.
	want := strings.ReplaceAll(`# terraform_data.secret:
resource "terraform_data" "secret" {
    id     = "ID"
    input  = {
        list     = [
            "open",
            (sensitive value),
        ]
        password = (sensitive value)
        user     = "admin"
    }
    output = {
        list     = [
            "open",
            (sensitive value),
        ]
        password = (sensitive value)
        user     = "admin"
    }
}
`, "ID", resource.ID)
	if diff := cmp.Diff(want, shown.String()); diff != "" {
		t.Error(diff)
	}
}

func TestShow(t *testing.T) {
	for behaviour, test := range map[string]struct {
		resource Resource
		want     string
	}{
		"attributes without a value are left out": {
			Resource{Address: "a.b", Type: "a", Name: "b", Attributes: json.RawMessage(`{"x":null,"y":[null],"n":1e400}`)},
			"# a.b:\nresource \"a\" \"b\" {\n    n = 1e400\n    y = [\n        null,\n    ]\n}\n",
		},
		"a data source, deposed and tainted": {
			Resource{Address: "data.a.b", Mode: "data", Type: "a", Name: "b", Deposed: "00c0ffee", Tainted: true},
			"# data.a.b: (deposed object 00c0ffee) (tainted)\ndata \"a\" \"b\" {}\n",
		},
		"a terminal is not told anything": {
			Resource{Address: "a.b", Type: "a", Name: "b", Attributes: json.RawMessage(`{"x":"\u001b[2J\n","odd key":true}`)},
			"# a.b:\nresource \"a\" \"b\" {\n    \"odd key\" = true\n    x         = \"\\u001b[2J\\n\"\n}\n",
		},
		"all of it is sensitive": {
			Resource{Address: "a.b", Type: "a", Name: "b", Attributes: json.RawMessage(`{"x":"1"}`), SensitivePaths: [][]string{{}}},
			"# a.b:\nresource \"a\" \"b\" (sensitive value)\n",
		},
		"a secret inside another text and as a name": {
			Resource{
				Address: "a.b", Type: "a", Name: "b", SensitivePaths: [][]string{{"pw"}},
				Attributes: json.RawMessage(`{"pw":{"k":["hunter2"]},"url":"https://u:hunter2@x/","m":{"hunter2":1}}`),
			},
			"# a.b:\nresource \"a\" \"b\" {\n    m   = {\n        (sensitive value) = 1\n    }\n    pw  = (sensitive value)\n" +
				"    url = (sensitive value)\n}\n",
		},
	} {
		t.Run(behaviour, func(t *testing.T) {
			var got bytes.Buffer
			if err := test.resource.Show(&got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseReadsAllOfAResource(t *testing.T) {
	file, err := Parse([]byte(`{"version":4,"serial":7,"lineage":"l","terraform_version":"1.5.7","resources":[{
		"module":"module.a[\"x\"]","mode":"managed","type":"t","name":"n",
		"provider":"module.a.provider[\"registry.opentofu.org/hashicorp/time\"].alias",
		"instances":[
			{"index_key":1,"status":"tainted","attributes":{"id":"i"},"dependencies":["t.d"],
			 "sensitive_attributes":[
			  [{"type":"get_attr","value":"s"},
			   {"type":"index","value":{"value":{"in":"a set"},"type":["object",{"in":"string"}]}}],
			  [{"type":"get_attr","value":"l"},{"type":"index","value":{"value":0,"type":"number"}}]]},
			{"index_key":1,"deposed":"0a","attributes_flat":{"id":"old"}}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	common := Resource{
		Address: `module.a["x"].t.n[1]`, Module: `module.a["x"]`, Mode: "managed", Type: "t", Name: "n",
		ProviderAddr: "registry.opentofu.org/hashicorp/time",
	}
	current, deposed := common, common
	current.ID, current.Tainted, current.Attributes = "i", true, json.RawMessage(`{"id":"i"}`)
	current.SensitivePaths, current.Dependencies = [][]string{{"s"}, {"l", "0"}}, []string{"t.d"}
	deposed.ID, deposed.Deposed, deposed.Attributes = "old", "0a", json.RawMessage(`{"id":"old"}`)
	want := &File{
		Serial: 7, Lineage: "l", TerraformVersion: "1.5.7", Outputs: map[string]Output{}, Resources: []Resource{current, deposed},
	}
	if diff := cmp.Diff(want, file); diff != "" {
		t.Error(diff)
	}
	if found, ok := file.Resource(current.Address); !ok || found.Deposed != "" {
		t.Errorf("looked up: %+v", found)
	}
}

func TestAnEncryptedStateShowsOnlyItsHeader(t *testing.T) {
	module := newModule(t, "encrypted")
	module.Run("apply", "-auto-approve")
	file, err := Parse(module.State())
	if err != nil {
		t.Fatal(err)
	}
	if !file.Encrypted || file.Serial != 1 || file.Lineage == "" || file.Outputs != nil || file.Resources != nil {
		t.Errorf("%+v", file)
	}
}

func TestWhatIsNotAStateIsNamedAndNotQuoted(t *testing.T) {
	for data, want := range map[string]string{
		"":                                     "it is empty",
		"hunter2":                              "syntax error at byte 1",
		`{"version":4,"serial":1,"x":"hunter2`: "syntax error at byte",
		`{"version":4,"serial":"hunter2"}`:     `field "serial"`,
		`{"serial":1}`:                         "does not have a format version",
		`{"version":3,"serial":1}`:             "format version is 3",
		`[]`:                                   "is not a statefile.header",
		`null`:                                 "does not have a format version",
		`{"version":4,"resources":{"hunter2":1}}`:                                                       `field "resources"`,
		`{"version":4,"resources":[{"type":"t","name":"n","instances":[{"index_key":{"hunter2":1}}]}]}`: "t.n in a state: its index",
	} {
		_, err := Parse([]byte(data))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", data, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error quotes the state: %v", err)
		}
	}
}

func TestOutputsThatDoNotFitTheirTypeAreNamedAndNotQuoted(t *testing.T) {
	for _, output := range []string{
		`{"value":"hunter2","type":"number"}`, `{"value":"hunter2","type":"hunter2"}`, `{"value":"hunter2"}`, `{"type":"string"}`,
	} {
		file, err := Parse([]byte(`{"version":4,"outputs":{"name":` + output + `}}`))
		if err != nil {
			t.Fatal(err)
		}
		_, err = file.PrintedOutputs()
		if err == nil || !strings.Contains(err.Error(), `output "name"`) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", output, err)
		}
	}
}

func TestWithSerialChangesNothingElse(t *testing.T) {
	for data, want := range map[string]string{
		"{\n  \"version\": 4,\n  \"serial\": 12,\n  \"outputs\": {\"serial\": 3}\n}\n": "{\n  \"version\": 4,\n  \"serial\": 99,\n  \"outputs\": {\"serial\": 3}\n}\n",
		`{"outputs":{"serial":{"value":1}},"version":4,"serial":1}`:                    `{"outputs":{"serial":{"value":1}},"version":4,"serial":99}`,
		`{"version":4}`:                                        "",
		`{"version":4,"serial":1,"Serial":2}`:                  "",
		`{"version":4,"serial":1,"serial":2}`:                  "",
		`{"serial":1,"lineage":"l","encryption_version":"v0"}`: "",
		`nonsense`: "",
	} {
		got, err := WithSerial([]byte(data), 99)
		if string(got) != want || (err != nil) != (want == "") {
			t.Errorf("%s: got %s, %v", data, got, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	seeds, err := filepath.Glob("testdata/states/*.tfstate")
	if err != nil || len(seeds) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, seed := range seeds {
		data, err := os.ReadFile(seed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse(data)
		if err != nil {
			return
		}
		if _, err := file.PrintedOutputs(); err == nil {
			for name, output := range file.Outputs {
				if !json.Valid(output.Type) {
					t.Errorf("output %q has the type %s", name, output.Type)
				}
			}
		}
		for _, resource := range file.Resources {
			_ = resource.Show(new(bytes.Buffer)) // an odd attribute is an error, never a panic
		}
		if raised, err := WithSerial(data, file.Serial+1); err == nil {
			again, err := Parse(raised)
			if err != nil || again.Serial != file.Serial+1 || again.Lineage != file.Lineage {
				t.Errorf("with another serial it reads %+v, %v", again, err)
			}
		}
	})
}
