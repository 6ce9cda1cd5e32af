// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// outputs is a world with the outputs of another stack.
func outputs() *objects {
	w := world()
	w.secrets["net"] = map[string]string{
		"id": "vpc-1", "quoted": "a \"b\"\nc", "binary": "\xff",
		"subnets": `["s-1","s-2"]`, "subnets__type": `["list","string"]`, "count": "3", "count__type": `"number"`,
	}
	w.secrets["broken"] = map[string]string{"x": "{", "x__type": `"number"`}
	return w
}

func TestValuesWithTemplates(t *testing.T) {
	for sentence, c := range map[string]struct{ spec, want string }{
		"an output of another stack":  {`{readInputsFromSecrets: [{name: net, as: vpc}], values: {id: "${{ .vpc.id }}", size: 1}}`, `{"id":"vpc-1","size":1}`},
		"a number stays text":         {`{readInputsFromSecrets: [{name: net, as: vpc}], values: {size: "${{ .vpc.count }}"}}`, `{"size":"3"}`},
		"a list stays a list":         {`{readInputsFromSecrets: [{name: net, as: vpc}], values: {s: "${{ .vpc.subnets }}"}}`, `{"s":["s-1","s-2"]}`},
		"a list by its index":         {`{readInputsFromSecrets: [{name: net, as: vpc}], values: {s: "${{ index .vpc.subnets 1 }}"}}`, `{"s":"s-2"}`},
		"quotes cannot break out":     {`{readInputsFromSecrets: [{name: net, as: vpc}], values: {s: "${{ .vpc.quoted }}", t: 1}}`, `{"s":"a \"b\"\nc","t":1}`},
		"two Secrets":                 {`{readInputsFromSecrets: [{name: net, as: a}, {name: db, as: b}], values: ["${{ .a.id }}:${{ .b.port }}"]}`, `["vpc-1:5432"]`},
		"a template without a Secret": {`values: ["${{ 1 }}"]`, `["1"]`},
	} {
		t.Run(sentence, func(t *testing.T) {
			in, err := Resolve(t.Context(), outputs(), "team-a", spec(t, c.spec))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(map[string]string{"var values": c.want}, flat(in)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A template can say anything; what it does by accident is to quote a value or to have it in
// base64, and one value may be part of another.
func TestNoValueIsToldByAFailingTemplate(t *testing.T) {
	w := outputs()
	w.secrets["pw"] = map[string]string{"a": `pass"w<ord>`, "b": "hunter", "c": "xxhunter2!yy"}
	for range 10 { // maps have no order
		_, err := Resolve(t.Context(), w, "team-a", spec(t, `{readInputsFromSecrets: [{name: pw, as: pw}], values: {a: `+
			`"${{ fail (printf \"%q %s %s %v %s\" .pw.a (b64enc .pw.a) (toJson .pw.a) .pw.c (b64enc .pw.c | trimSuffix \"=\")) }}"}}`))
		want := "spec.values.a: " + strings.ReplaceAll(`"M" M "M" M M`, "M", Mask)
		if err == nil || err.Error() != want {
			t.Fatalf("%v, want %s", err, want)
		}
	}
}

func TestWhatIsWrongWithTemplates(t *testing.T) {
	for text, want := range map[string]struct {
		part    Part
		message string
	}{
		`{readInputsFromSecrets: [{name: net, as: vpc}], values: {a: {b: "${{ .vpc.nope }}"}}}`: {PartTemplate, "spec.values.a.b: .vpc.nope has no value"},
		`{readInputsFromSecrets: [{name: net, as: vpc}], values: {a: "${{ .vpc.binary }}"}}`:    {PartTemplate, "spec.values.a: .vpc.binary has no value"},
		`{readInputsFromSecrets: [{name: net, as: vpc}], values: {a: "${{ fail .vpc.id }}"}}`:   {PartTemplate, "spec.values.a: (sensitive value)"},
		`{readInputsFromSecrets: [{name: gone, as: vpc}], values: {a: "${{ .vpc.id }}"}}`:       {PartVariables, "spec.readInputsFromSecrets[0]: Secret team-a/gone: does not exist"},
		`{readInputsFromSecrets: [{name: broken, as: vpc}]}, values: {}`:                        {PartVariables, `spec.readInputsFromSecrets[0]: Secret team-a/broken: the value of key "x" is not JSON, although the key "x__type" exists`},
	} {
		if strings.HasSuffix(text, "}, values: {}") {
			text = strings.TrimSuffix(text, "}, values: {}") + ", values: {}}"
		}
		_, err := Resolve(t.Context(), outputs(), "team-a", spec(t, text))
		var problems *Error
		if !errors.As(err, &problems) || problems.Part() != want.part || err.Error() != want.message {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestWhatTemplatesTookFromSecretsIsMasked(t *testing.T) {
	in, err := Resolve(t.Context(), outputs(), "team-a", spec(t,
		`{readInputsFromSecrets: [{name: net, as: vpc}, {name: db, as: db}], values: {open: text, url: "https://${{ .vpc.id }}.example/", up: "${{ .db.password | upper }}"}}`))
	if err != nil {
		t.Fatal(err)
	}
	const text = "open text https://vpc-1.example/ id=vpc-1 vpc-1a HUNTER2! 5432"
	if got, want := in.Hide(text), "open text "+Mask+" id="+Mask+" vpc-1a "+Mask+" 5432"; got != want {
		t.Errorf("shown as %s", got)
	}
}

func TestDataOfAFilesTemplate(t *testing.T) {
	in, err := Resolve(t.Context(), world(), "team-a", spec(t, `{values: {a: 1}, vars: [{name: x, value: ["y"]}], varsFrom: [{kind: Secret, name: db}]}`))
	if err != nil {
		t.Fatal(err)
	}
	got, err := in.TemplateData()
	values := map[string]any{"a": float64(1)}
	want := map[string]any{"Values": values, "values": values, "x": []any{"y"}, "password": "hunter2!", "port": "5432"}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}
