// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/kit/mask"
)

// shape replaces every leaf of a document by its place, so that only names and nesting are
// compared.
func shape(value any) any {
	switch v := value.(type) {
	case []any:
		out := []any{}
		for _, element := range v {
			out = append(out, shape(element))
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for name, element := range v {
			out[name] = shape(element)
		}
		return out
	}
	return "leaf"
}

// pruned is a document with a leaf wherever the other has a redacted value.
func pruned(value, redacted any) any {
	if redacted == SensitiveMark {
		return SensitiveMark
	}
	switch v := value.(type) {
	case []any:
		for i := range v {
			v[i] = pruned(v[i], redacted.([]any)[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = pruned(v[name], redacted.(map[string]any)[name])
		}
	}
	return value
}

func TestARedactedDocumentKeepsToolsSchema(t *testing.T) {
	for _, file := range fixtures(t) {
		show, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		document, _, err := Redact(show, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range secretsInFixtures {
			if bytes.Contains(document, []byte(secret)) {
				t.Errorf("%s: %q is shown", file, secret)
			}
		}
		var was, is any
		if err := json.Unmarshal(show, &was); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(document, &is); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(shape(pruned(was, is)), shape(is)); diff != "" {
			t.Errorf("%s: (-tool's +ours)\n%s", file, diff)
		}
		// What the tool says a plan does is said of the redacted one, too.
		before, after := planOf(t, show), planOf(t, document)
		if diff := cmp.Diff(before.Counts, after.Counts); diff != "" {
			t.Errorf("%s: %s", file, diff)
		}
	}
}

func TestWhatIsRedacted(t *testing.T) {
	for sentence, test := range map[string]struct{ show, want string }{
		"a value that is marked": {
			`{"resource_changes":[{"address":"a.b","change":{"actions":["update"],"before":{"p":"short"},"after":{"p":1,"q":"open"},"before_sensitive":{"p":true},"after_sensitive":{"p":true}}}]}`,
			`{"resource_changes":[{"address":"a.b","change":{"actions":["update"],"before":{"p":"(sensitive value)"},"after":{"p":"(sensitive value)","q":"open"},"before_sensitive":{"p":true},"after_sensitive":{"p":true}}}]}`},
		"what holds the text of one": {
			`{"resource_changes":[{"change":{"after":{"p":"hunter2","copy":"x-hunter2","list":["hunter2"],"hunter2":0},"after_sensitive":{"p":true}}}]}`,
			`{"resource_changes":[{"change":{"after":{"p":"(sensitive value)","copy":"(sensitive value)","list":["(sensitive value)"],"(sensitive value)":0},"after_sensitive":{"p":true}}}]}`},
		"values in the state and those planned": {
			`{"prior_state":{"values":{"outputs":{"o":{"sensitive":true,"value":"x"}},"root_module":{"child_modules":[{"resources":[{"type":"t","values":{"p":"y","q":"z"},"sensitive_values":{"p":true}}]}]}}},"planned_values":{"root_module":{"resources":[{"values":{"p":["y"]},"sensitive_values":{"p":[true]}}]}}}`,
			`{"prior_state":{"values":{"outputs":{"o":{"sensitive":true,"value":"(sensitive value)"}},"root_module":{"child_modules":[{"resources":[{"type":"t","values":{"p":"(sensitive value)","q":"z"},"sensitive_values":{"p":true}}]}]}}},"planned_values":{"root_module":{"resources":[{"values":{"p":["(sensitive value)"]},"sensitive_values":{"p":[true]}}]}}}`},
		"outputs and variables, whatever they are called": {
			`{"variables":{"message":{"value":"x1"},"open":{"value":"update"}},"output_changes":{"before":{"before":null,"after":"x2","after_sensitive":true}},"planned_values":{"outputs":{"value":{"sensitive":true,"value":"x3"},"sensitive":{"sensitive":false,"value":"x4"}}},"configuration":{"root_module":{"variables":{"message":{"sensitive":true}}}}}`,
			`{"variables":{"message":{"value":"(sensitive value)"},"open":{"value":"update"}},"output_changes":{"before":{"before":null,"after":"(sensitive value)","after_sensitive":true}},"planned_values":{"outputs":{"value":{"sensitive":true,"value":"(sensitive value)"},"sensitive":{"sensitive":false,"value":"x4"}}},"configuration":{"root_module":{"variables":{"message":{"sensitive":true}}}}}`},
		"a constant of the program and the message of a check": {
			`{"configuration":{"root_module":{"resources":[{"expressions":{"p":{"constant_value":"from-a-secret"}}}]}},"checks":[{"instances":[{"problems":[{"message":"bad: from-a-secret"}]}]}]}`,
			`{"configuration":{"root_module":{"resources":[{"expressions":{"p":{"constant_value":"(sensitive value)"}}}]}},"checks":[{"instances":[{"problems":[{"message":"(sensitive value)"}]}]}]}`},
		"the default of a sensitive variable, of a module's too": {
			`{"configuration":{"root_module":{"variables":{"a":{"default":"one","sensitive":true},"b":{"default":"two"}},"module_calls":{"m":{"module":{"variables":{"c":{"default":{"x":"three"},"sensitive":true}}}}}}}}`,
			`{"configuration":{"root_module":{"variables":{"a":{"default":"(sensitive value)","sensitive":true},"b":{"default":"two"}},"module_calls":{"m":{"module":{"variables":{"c":{"default":"(sensitive value)","sensitive":true}}}}}}}}`},
		"encoded values, as a provider makes them of marked ones": {
			`{"resource_changes":[{"change":{"after":{"p":"hunter2+x","url":"amqp://u:hunter2%2Bx@mq","auth":"Basic dTpodW50ZXIyK3g=","hex":"68756e746572322b78","user":"hunter"},"after_sensitive":{"p":true}}}]}`,
			`{"resource_changes":[{"change":{"after":{"p":"(sensitive value)","url":"(sensitive value)","auth":"(sensitive value)","hex":"(sensitive value)","user":"hunter"},"after_sensitive":{"p":true}}}]}`},
		"a common word that is marked, and is a value elsewhere": {
			`{"resource_changes":[{"address":"role.app","name":"app","change":{"after":{"p":"app","copy":"app","app":1,"text":"the app of app-1"},"after_sensitive":{"p":true}}}]}`,
			`{"resource_changes":[{"address":"role.app","name":"app","change":{"after":{"p":"(sensitive value)","copy":"(sensitive value)","app":1,"text":"the app of app-1"},"after_sensitive":{"p":true}}}]}`},
		"what the tool says it does is not, also when a secret has that word": {
			`{"resource_changes":[{"address":"update.from-a-secret","type":"update","change":{"actions":["update"],"after":{"p":"update"},"after_sensitive":{"p":true}}}]}`,
			`{"resource_changes":[{"address":"update.from-a-secret","type":"update","change":{"actions":["update"],"after":{"p":"(sensitive value)"},"after_sensitive":{"p":true}}}]}`},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, _, err := Redact([]byte(test.show), maskerOf("from-a-secret"))
			if err != nil {
				t.Fatal(err)
			}
			var is, want any
			if err := json.Unmarshal(got, &is); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(test.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, is); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatHidesThePlansOwnValuesIsReturned(t *testing.T) {
	_, own, err := Redact([]byte(`{"variables":{"v":{"value":"of-a-variable"}},"configuration":{"root_module":{"variables":{"v":{"sensitive":true}}}},
		"output_changes":{"o":{"after":{"a":"of-an-output","b":12},"after_sensitive":true}}}`), maskerOf("given"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("12 given (sensitive value) (sensitive value)", own.Text("12 given of-a-variable b2YtYW4tb3V0cHV0")); diff != "" {
		t.Error(diff)
	}
}

// maskerOf hides one text.
func maskerOf(text string) *mask.Masker {
	secrets := mask.New()
	secrets.Add(text)
	return secrets.Masker(mask.Mark)
}

func TestNothingIsWhatThePlanWithoutChangesSays(t *testing.T) {
	show, err := os.ReadFile("testdata/nothing-changes.json")
	if err != nil {
		t.Fatal(err)
	}
	described, err := Describe(show)
	if err != nil {
		t.Fatal(err)
	}
	want, err := Decode(described.Document)
	if err != nil {
		t.Fatal(err)
	}
	document, err := Nothing(want.Tool)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(document)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Value{})); diff != "" {
		t.Errorf("(-described +made):\n%s", diff)
	}
}

func FuzzRedact(f *testing.F) {
	for _, file := range fixtures(f) {
		show, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(show)
	}
	f.Fuzz(func(t *testing.T, show []byte) {
		document, _, err := Redact(show, maskerOf("hunter2"))
		if err == nil && !json.Valid(document) {
			t.Errorf("not JSON: %s", document)
		}
	})
}
