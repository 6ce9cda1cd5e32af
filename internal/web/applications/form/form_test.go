// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package form

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/applications/schema"
)

const text0 = `{"type":"object","required":["size","network"],"properties":{
  "title":{"type":"string","title":"The title","description":"<b>hostile</b>"},
  "size":{"type":"integer","minimum":1},
  "ratio":{"type":"number"},
  "public":{"type":"boolean","default":false},
  "class":{"type":"string","enum":["small","large"],"default":"small"},
  "level":{"type":"integer","enum":[1,2]},
  "pool":{"type":"string","x-cozystack-options":["local","replicated"]},
  "port":{"x-kubernetes-int-or-string":true},
  "tags":{"type":"array","items":{"type":"string"}},
  "labels":{"type":"object","additionalProperties":{"type":"string"}},
  "network":{"type":"object","required":["cidr"],"properties":{"cidr":{"type":"string"},"dns":{"type":"object","properties":{"zone":{"type":"string"}}}}}
}}`

func fields(t *testing.T) []schema.Field {
	t.Helper()
	s, list := schema.Parse(text0)
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	return s.Fields(nil)
}

func posted(pairs ...string) url.Values {
	values := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		values.Set("spec."+pairs[i], pairs[i+1])
	}
	return values
}

func TestRead(t *testing.T) {
	for sentence, test := range map[string]struct {
		values   url.Values
		want     map[string]any
		problems map[string]string
	}{
		"what is empty is left out, but objects that are required": {posted("title", " ", "tags", ""), map[string]any{"network": map[string]any{}}, nil},
		"every kind of field": {posted("title", "a", "size", " 3 ", "ratio", "1.5", "public", "true", "class", "large", "level", "2", "pool", "mine", "port", "80", "tags", "[a, b]", "labels", "a: b", "network.cidr", "10.0.0.0/8", "network.dns.zone", "z"),
			map[string]any{"title": "a", "size": int64(3), "ratio": 1.5, "public": true, "class": "large", "level": int64(2), "pool": "mine", "port": int64(80), "tags": []any{"a", "b"}, "labels": map[string]any{"a": "b"},
				"network": map[string]any{"cidr": "10.0.0.0/8", "dns": map[string]any{"zone": "z"}}}, nil},
		"an empty text, list and null are written out": {posted("title", `""`, "tags", "[]", "labels", "null", "port", `"80"`),
			map[string]any{"title": "", "tags": []any{}, "labels": nil, "port": "80", "network": map[string]any{}}, nil},
		"what cannot be read says so, and the rest is read": {posted("size", "many", "ratio", "Inf", "class", "huge", "public", "perhaps", "tags", "[a", "title", "a"),
			map[string]any{"title": "a", "network": map[string]any{}},
			map[string]string{"size": "Write a whole number.", "ratio": "Write a number, such as 1.5.", "class": "Choose one of the values in the list.", "public": "Choose one of the values in the list.", "tags": "This is no YAML"}},
		"values of fields that are not in the schema are ignored": {posted("title", "a", "admin", "yes", "network.secret", "x"), map[string]any{"title": "a", "network": map[string]any{}}, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			spec, problems := Read(fields(t), test.values)
			if diff := cmp.Diff(test.want, spec); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(problems) != len(test.problems) {
				t.Errorf("problems: %v", problems)
			}
			for path, want := range test.problems {
				if !strings.HasPrefix(problems[path], want) {
					t.Errorf("%s: %q, want %q", path, problems[path], want)
				}
			}
		})
	}
}

// What a form shows of an instance is read back as the same instance.
func TestValuesAreReadBack(t *testing.T) {
	for sentence, spec := range map[string]map[string]any{
		"every kind of field": {"title": "a", "size": int64(3), "ratio": 1.5, "public": false, "class": "large", "level": int64(2), "port": "80", "tags": []any{"a", "b: c"}, "labels": map[string]any{"a": "1"},
			"network": map[string]any{"cidr": "10.0.0.0/8", "dns": map[string]any{"zone": "z"}}},
		"empty values":           {"title": "", "tags": []any{}, "labels": map[string]any{}, "network": map[string]any{"cidr": ""}},
		"a text in quotes":       {"title": `"a"`, "network": map[string]any{}},
		"a number, not a text":   {"port": int64(80), "network": map[string]any{}},
		"several lines of a map": {"labels": map[string]any{"a": "b\nc", "d": "#"}, "network": map[string]any{}},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, problems := Read(fields(t), Values(fields(t), spec))
			if len(problems) > 0 {
				t.Error(problems)
			}
			if diff := cmp.Diff(spec, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestControls(t *testing.T) {
	controls := Controls(fields(t), posted("title", "a", "network.dns.zone", "z"), map[string]string{"size": "Write a whole number."})
	got := map[string]Control{}
	var gather func([]Control)
	gather = func(list []Control) {
		for _, c := range list {
			got[strings.TrimPrefix(c.Name, "spec.")] = c
			gather(c.Controls)
		}
	}
	gather(controls)
	for name, want := range map[string]string{"title": Text, "size": Number, "ratio": Number, "public": Choice, "class": Choice, "pool": Text, "port": Text, "tags": YAML, "labels": YAML, "network": Group, "network.dns": Group} {
		if got[name].Kind != want {
			t.Errorf("%s is a %s, want %s", name, got[name].Kind, want)
		}
	}
	switch {
	case got["title"].Label != "The title" || got["title"].Value != "a" || got["title"].Help != "<b>hostile</b>":
		t.Errorf("title: %+v", got["title"])
	case got["size"].Problem == "" || !got["size"].Required || len(got["size"].Conditions) != 1:
		t.Errorf("size: %+v", got["size"])
	case got["class"].Hint != "small" || cmp.Diff([]string{"small", "large"}, got["class"].Options) != "":
		t.Errorf("class: %+v", got["class"])
	case cmp.Diff([]string{"local", "replicated"}, got["pool"].Suggested) != "":
		t.Errorf("pool: %+v", got["pool"])
	case !got["network"].Open || !got["network.dns"].Open:
		t.Error("a group with a value is closed")
	}
}
