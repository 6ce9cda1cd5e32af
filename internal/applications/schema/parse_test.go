// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// structuralForms are texts and the schemas that they become.
var structuralForms = map[string]struct{ text, want string }{
	"an object keeps its fields": {
		`{"title":"T","type":"object","properties":{"n":{"type":"integer","default":2,"description":"d"}},"required":["n"]}`,
		`{"title":"T","type":"object","properties":{"n":{"type":"integer","default":2,"description":"d"}},"required":["n"]}`,
	},
	"an object without fields keeps everything": {
		`{"type":"object","properties":{"v":{"type":"object"}}}`,
		`{"type":"object","properties":{"v":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}`,
	},
	"no type means anything": {
		`{"properties":{"v":{"description":"d"},"w":true}}`,
		`{"type":"object","properties":{"v":{"description":"d","x-kubernetes-preserve-unknown-fields":true},"w":{"x-kubernetes-preserve-unknown-fields":true}}}`,
	},
	"a type follows from the conditions": {
		`{"properties":{"a":{"enum":["x","y"]},"b":{"items":{"pattern":"^a"}},"c":{"minimum":1,"default":3},"d":{"additionalProperties":{"const":5}}}}`,
		`{"type":"object","properties":{"a":{"type":"string","enum":["x","y"]},"b":{"type":"array","items":{"type":"string","pattern":"^a"}},
		  "c":{"type":"integer","minimum":1,"default":3},"d":{"type":"object","additionalProperties":{"type":"integer","enum":[5]}}}}`,
	},
	"an array without items keeps everything": {
		`{"type":"object","properties":{"a":{"type":"array"}}}`,
		`{"type":"object","properties":{"a":{"type":"array","items":{"x-kubernetes-preserve-unknown-fields":true}}}}`,
	},
	"a quantity of Cozystack": {
		`{"type":"object","properties":{"size":{"default":"10Gi","pattern":"^[0-9]+(Gi)?$","anyOf":[{"type":"integer"},{"type":"string"}],"x-kubernetes-int-or-string":true}}}`,
		`{"type":"object","properties":{"size":{"default":"10Gi","pattern":"^[0-9]+(Gi)?$","x-kubernetes-int-or-string":true}}}`,
	},
	"integer or string without the extension": {
		`{"type":"object","properties":{"a":{"type":["integer","string"]},"b":{"oneOf":[{"type":"string","maxLength":5},{"type":"integer","minimum":1}]}}}`,
		`{"type":"object","properties":{"a":{"x-kubernetes-int-or-string":true},"b":{"x-kubernetes-int-or-string":true,"maxLength":5,"minimum":1}}}`,
	},
	"null makes a field nullable": {
		`{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"anyOf":[{"type":"number"},{"type":"null"}]},"c":{"enum":["x",null]}}}`,
		`{"type":"object","properties":{"a":{"type":"string","nullable":true},"b":{"type":"number","nullable":true},"c":{"type":"string","enum":["x"],"nullable":true}}}`,
	},
	"references are resolved, and keys beside them win": {
		`{"$defs":{"size":{"type":"string","description":"a size","pattern":"^[0-9]+$"}},"type":"object","properties":{"a":{"$ref":"#/$defs/size"},"b":{"$ref":"#/$defs/size","description":"b"}}}`,
		`{"type":"object","properties":{"a":{"type":"string","description":"a size","pattern":"^[0-9]+$"},"b":{"type":"string","description":"b","pattern":"^[0-9]+$"}}}`,
	},
	"allOf with fields is one object": {
		`{"definitions":{"base":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}},
		  "allOf":[{"$ref":"#/definitions/base"},{"properties":{"b":{"type":"string"}},"required":["b"]}]}`,
		`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a","b"]}`,
	},
	"conditions lose their types and descriptions": {
		`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},
		  "oneOf":[{"title":"first","type":"object","required":["a"]},{"required":["b"],"properties":{"b":{"type":"string","minLength":1}}}]}`,
		`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},
		  "oneOf":[{"required":["a"]},{"required":["b"],"properties":{"b":{"minLength":1}}}]}`,
	},
	"internal keys are not in the schema": {
		`{"type":"object","properties":{"_cluster":{"type":"object"},"a":{"type":"object","properties":{"_b":{"type":"string"}}}},"required":["_cluster","a"]}`,
		`{"type":"object","properties":{"a":{"type":"object","properties":{"_b":{"type":"string"}}}},"required":["a"]}`,
	},
	"form keys are not in the schema": {
		`{"type":"object","x-order":1,"properties":{"pool":{"type":"string","default":"","x-cozystack-options":{"source":"storagepool"}}}}`,
		`{"type":"object","properties":{"pool":{"type":"string","default":""}}}`,
	},
	"exclusive bounds of later drafts": {
		`{"type":"object","properties":{"n":{"type":"number","exclusiveMinimum":0,"maximum":9,"exclusiveMaximum":true}}}`,
		`{"type":"object","properties":{"n":{"type":"number","minimum":0,"exclusiveMinimum":true,"maximum":9,"exclusiveMaximum":true}}}`,
	},
	"unique items are a set": {
		`{"type":"object","properties":{"l":{"type":"array","uniqueItems":true,"items":{"type":"string"}}}}`,
		`{"type":"object","properties":{"l":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}}}}`,
	},
	"no other fields is what pruning does": {
		`{"type":"object","additionalProperties":false,"properties":{"a":{"type":"object","additionalProperties":false}}}`,
		`{"type":"object","properties":{"a":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}`,
	},
	"a map at the top": {
		`{"type":"object","additionalProperties":{"type":"string"}}`,
		`{"type":"object","additionalProperties":{"type":"string"}}`,
	},
	"a default of defaults": {
		`{"type":"object","properties":{"q":{"type":"object","default":{},"required":["m"],"properties":{"m":{"type":"integer","default":0}}}}}`,
		`{"type":"object","properties":{"q":{"type":"object","default":{"m":0},"required":["m"],"properties":{"m":{"type":"integer","default":0}}}}}`,
	},
	"a rule": {
		`{"type":"object","properties":{"c":{"type":"string","default":"r","x-kubernetes-validations":[{"rule":"self == oldSelf","message":"immutable"}]}}}`,
		`{"type":"object","properties":{"c":{"type":"string","default":"r","x-kubernetes-validations":[{"rule":"self == oldSelf","message":"immutable"}]}}}`,
	},
}

func TestParse(t *testing.T) {
	for name, c := range structuralForms {
		t.Run(name, func(t *testing.T) {
			s, list := Parse(c.text)
			if s == nil {
				t.Fatal(list)
			}
			got, err := json.Marshal(s.Spec)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(asYAML(t, c.want), asYAML(t, string(got))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if again, _ := Parse(string(got)); again == nil {
				t.Error("the result is refused")
			}
		})
	}
}

func asYAML(t *testing.T, text string) string {
	t.Helper()
	out, err := yaml.JSONToYAML([]byte(text))
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return string(out)
}

// refused are texts, and the beginning of the first finding.
var refused = map[string]struct{ text, want string }{
	"nothing":               {``, `it is not valid JSON: the text ends too early (line 1, column 1); write the schema as one JSON document`},
	"YAML":                  {"type: object", `it is not valid JSON: invalid character 'y' in literal true`},
	"a list":                {`[]`, `the schema is not a JSON object; write {"type":"object","properties":{…}}`},
	"no object":             {`{"type":"string"}`, `type: the spec of an application is an object, and the schema says string`},
	"an integer or string":  {`{"type":["integer","string"]}`, `type: the spec of an application is an object, and the schema says nothing about its type`},
	"two documents":         {`{"type":"object"} {}`, `text follows the JSON document`},
	"a key twice":           {`{"type":"object","properties":{"a":{"type":"string"},"a":{"type":"integer"}}}`, `properties.a: the key appears twice (line 1, column 57); remove one of them`},
	"a key twice, in \\u":   {`{"type":"object","properties":{"a":{"type":"string","\u0074ype":"integer"}}}`, `properties.a.type: the key appears twice`},
	"deep":                  {strings.Repeat(`{"items":`, 1000), `items.items.items.`},
	"deep fields":           {strings.Repeat(`{"properties":{"a":`, 28) + `{}` + strings.Repeat(`}}`, 28), `properties.a.properties.a.`},
	"a megabyte":            {`{"type":"object","description":"` + strings.Repeat("x", 1<<20) + `"}`, `the schema has 1024 KiB, and 256 KiB are allowed; shorten`},
	"recursive":             {`{"definitions":{"n":{"type":"object","properties":{"next":{"$ref":"#/definitions/n"}}}},"type":"object","properties":{"a":{"$ref":"#/definitions/n"}}}`, `properties.a.properties.next.$ref: the schema is recursive: #/definitions/n → #/definitions/n; end the recursion`},
	"recursive at once":     {`{"$ref":"#"}`, `$ref: the schema is recursive`},
	"recursive in branches": {`{"type":"object","allOf":[{"$ref":"#"}]}`, `allOf[0].allOf[0].$ref: the schema is recursive`},
	"a reference elsewhere": {`{"type":"object","properties":{"a":{"$ref":"https://example.com/x.json"}}}`, `properties.a.$ref: the reference "https://example.com/x.json" leads to nothing here; refer to a definition in this document`},
	"wide references":       {bomb(), `properties.a.properties.`},
	"a type that is none":   {`{"type":"object","properties":{"a":{"type":"int"}}}`, `properties.a.type: the type "int" does not exist; write one of`},
	"two types":             {`{"type":"object","properties":{"a":{"type":["boolean","string"]}}}`, `properties.a.type: a field has one type, and this one has boolean, string; choose one type`},
	"types in conditions":   {`{"type":"object","properties":{"a":{"type":"string","anyOf":[{"type":"boolean"},{"type":"string"}]}}}`, `properties.a.anyOf[0].type: a field has one type, and conditions cannot change it`},
	"a lookahead":           {`{"type":"object","properties":{"a":{"type":"string","pattern":"^(?!x)"}}}`, `properties.a.pattern: must be a valid regular expression, but isn't`},
	"a wrong default":       {`{"type":"object","properties":{"a":{"type":"integer","default":"2"}}}`, `properties.a.default: must be of type integer`},
	"a default not in enum": {`{"type":"object","properties":{"a":{"type":"string","enum":["x"],"default":"y"}}}`, `properties.a.default: `},
	"a pattern of fields":   {`{"type":"object","properties":{"a":{"patternProperties":{"^x":{}}}}}`, `properties.a.patternProperties: fields by pattern are not possible: the API server would drop them; write additionalProperties`},
	"a keyword's type":      {`{"type":"object","properties":{"a":{"type":"string","minLength":"3"}}}`, `properties.a.minLength: the value has the wrong type: string instead of int64`},
	"false":                 {`{"type":"object","properties":{"a":false}}`, `properties.a: a field that refuses every value is not possible; leave the field out`},
	"a text as schema":      {`{"type":"object","properties":{"a":"string"}}`, `properties.a: it is not a schema; write a JSON object`},
	"a field of branches":   {`{"type":"object","properties":{"a":{"type":"string"}},"anyOf":[{"properties":{"b":{"minLength":1}}}]}`, `anyOf[0].properties.b: the condition is about a field that does not exist; declare the field in properties of the object, too`},
	"required, not there":   {`{"type":"object","properties":{"a":{"type":"string"}},"required":["b"]}`, `required: the field "b" is required and does not exist; declare it in properties`},
	"a default that lacks":  {`{"type":"object","properties":{"a":{"type":"object","default":{},"required":["b"],"properties":{"b":{"type":"string"}}}}}`, `properties.a.default.b: a value is required; write a default that satisfies the schema of its field`},
	"a rule that is none":   {`{"type":"object","properties":{"a":{"type":"string","x-kubernetes-validations":[{"rule":"self >"}]}}}`, `properties.a.x-kubernetes-validations[0].rule: compilation failed`},
	"a costly rule":         {`{"type":"object","properties":{"a":{"type":"array","items":{"type":"array","items":{"type":"string"}},"x-kubernetes-validations":[{"rule":"self.all(x, x.all(y, self.all(z, z.all(w, w.contains(y)))))"}]}}}`, `x-kubernetes-validations estimated rule cost total`},
	"conflicting parts":     {`{"allOf":[{"type":"object","properties":{"a":{"type":"string"}}},{"type":"object","properties":{"a":{"type":"integer"}}}]}`, `allOf[1].properties.a: the field is declared differently elsewhere; declare it once`},
}

func bomb() string {
	var b strings.Builder
	b.WriteString(`{"type":"object","properties":{"a":{"$ref":"#/d/0"}},"d":{`)
	for i := range 20 {
		next := `{"$ref":"#/d/` + string(rune('a'+i)) + `"}`
		name := "0"
		if i > 0 {
			name = string(rune('a' + i - 1))
		}
		b.WriteString(`"` + name + `":{"type":"object","properties":{"x":` + next + `,"y":` + next + `,"z":` + next + `}},`)
	}
	b.WriteString(`"t":{"type":"string"}}}`)
	return b.String()
}

func TestRefused(t *testing.T) {
	for name, c := range refused {
		t.Run(name, func(t *testing.T) {
			s, list := Parse(c.text)
			if s != nil || list.Err() == nil {
				t.Fatalf("it is accepted: %v", list)
			}
			if got := list[0].String(); !strings.HasPrefix(got, c.want) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if len(list.String()) > 4000 {
				t.Errorf("the findings have %d bytes", len(list.String()))
			}
		})
	}
}

func TestRelaxations(t *testing.T) {
	for text, want := range map[string]string{
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"boolean"},{"type":"string"}]}}}`: `properties.a: values are accepted unchecked, because the field may have several types: boolean, string; give the field one type; for an integer or a string write x-kubernetes-int-or-string: true`,
		`{"type":"object","propertis":{}}`:                                                                 `propertis: the keyword does not exist, and is ignored; write properties`,
		`{"type":"object","properties":{"a":{"format":"quantity"}}}`:                                       `properties.a.format: the API server does not know the format "quantity" and accepts any value; write a pattern if values must be checked`,
		`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":{"type":"integer"}}`: `additionalProperties: values of other keys are accepted unchecked, because the object has fields, too; move them into a field of their own`,
		`{"type":"object","properties":{"a":{"type":"string"}},"if":{},"then":{}}`:                         "if: the API server does not enforce it; write a rule in CEL, in x-kubernetes-validations\nthen: the API server does not enforce it; write a rule in CEL, in x-kubernetes-validations",
	} {
		s, list := Parse(text)
		if s == nil || list.String() != want {
			t.Errorf("%s: %s", text, list)
		}
	}
}

func TestWhatIsKeptBesideTheSchema(t *testing.T) {
	s, list := Parse(`{"type":"object","properties":{"_cluster":{"type":"object"},
		"users":{"type":"object","additionalProperties":{"type":"object","properties":{"role":{"type":"string","x-cozystack-options":{"source":"role"}}}}}}}`)
	if s == nil {
		t.Fatal(list)
	}
	if diff := cmp.Diff([]string{"_cluster"}, s.Internal); diff != "" {
		t.Error(diff)
	}
	if got := string(s.Extensions["users[*].role"]["x-cozystack-options"]); got != `{"source":"role"}` {
		t.Errorf("%v", s.Extensions)
	}
}

func FuzzParse(f *testing.F) {
	for _, c := range structuralForms {
		f.Add(c.text)
	}
	for _, c := range refused {
		if len(c.text) < 4096 {
			f.Add(c.text)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, list := Parse(text)
		if (s == nil) != (list.Err() != nil) {
			t.Fatal(list)
		}
		if s != nil {
			s.Validate(s.Default(nil))
		}
	})
}
