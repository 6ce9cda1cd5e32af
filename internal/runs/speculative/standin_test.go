// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package speculative_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/mask"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/speculative"
	"github.com/yuba-dev/yuba/internal/tofu/inputs"
)

// outputs are planned as `tofu show -json` describes them.
const outputs = `{
  "same":    {"actions": ["no-op"], "before": "s", "after": "s", "after_unknown": false, "after_sensitive": false},
  "text":    {"actions": ["update"], "before": "a", "after": "b", "after_unknown": false, "after_sensitive": false},
  "list":    {"actions": ["create"], "after": [1, "x"], "after_unknown": false, "after_sensitive": false},
  "gone":    {"actions": ["delete"], "before": "g", "after": null, "after_unknown": false},
  "id":      {"actions": ["create"], "after_unknown": true, "after_sensitive": false},
  "part":    {"actions": ["update"], "after": {"a": 1}, "after_unknown": {"b": [false, true]}, "after_sensitive": {}},
  "token":   {"actions": ["update"], "after": "t0ken", "after_unknown": false, "after_sensitive": true},
  "url":     {"actions": ["update"], "after": "https://p4ssw0rd@host", "after_unknown": false, "after_sensitive": false}
}`

func standIn(t *testing.T, wanted ...string) *speculative.StandIn {
	t.Helper()
	secrets := mask.New()
	secrets.Add("p4ssw0rd")
	p, err := speculative.ReadPlanned(run.Stack{Namespace: "ns", Name: "net", UID: "1"}, []byte(outputs), secrets.Masker(inputs.Mask))
	if err != nil {
		t.Fatal(err)
	}
	return &speculative.StandIn{Planned: p, Name: "out", Wanted: wanted}
}

func secret(data map[string]string, open ...string) *corev1.Secret {
	s := &corev1.Secret{Data: map[string][]byte{}}
	for key, text := range data {
		s.Data[key] = []byte(text)
	}
	s.Annotations = map[string]string{infrav1.OpenOutputsAnnotation: inputs.OpenOutputs{Open: open}.Annotation(s.Data)}
	return s
}

func TestASecretWithPlannedOutputs(t *testing.T) {
	current := secret(map[string]string{"same": "s", "text": "a", "gone": "g", "gone__type": `"string"`, "id": "old", "part": "{}", "part__type": "[]", "others": "o",
		"token": "old", "url": "https://old"}, "same", "text", "gone", "id", "token", "url")
	for sentence, test := range map[string]struct {
		wanted []string
		want   map[string]string
		open   []string
	}{
		"all outputs": {nil, map[string]string{"same": "s", "text": "b", "list": `[1,"x"]`, "list__type": `"dynamic"`, "others": "o", "token": "t0ken",
			"url": "https://p4ssw0rd@host"}, []string{"list", "same", "text"}},
		"some, by other names": {[]string{"text:other", "id:key"}, map[string]string{"same": "s", "text": "a", "gone": "g", "gone__type": `"string"`, "id": "old",
			"part": "{}", "part__type": "[]", "others": "o", "token": "old", "url": "https://old", "other": "b"}, []string{"gone", "id", "other", "same", "text", "token", "url"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			before := current.DeepCopy()
			got := standIn(t, test.wanted...).Secret(current, speculative.LeftOut)
			data := map[string]string{}
			for key, text := range got.Data {
				data[key] = string(text)
			}
			if diff := cmp.Diff(test.want, data); diff != "" {
				t.Error(diff)
			}
			if noted, ok := inputs.OpenOutputsOf(got); !ok || cmp.Diff(test.open, noted.Open) != "" {
				t.Errorf("open are %q, %v; want %q", noted.Open, ok, test.open)
			}
			if diff := cmp.Diff(before, current); diff != "" {
				t.Errorf("the Secret was modified: %s", diff)
			}
		})
	}
	var names []string
	for _, u := range standIn(t, "id:key", "part", "text").Unknown() {
		names = append(names, u.Output+" as "+u.Key)
	}
	if diff := cmp.Diff([]string{"id as key", "part as part"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestPlannedOutputsAreNotPrinted(t *testing.T) {
	p := standIn(t).Planned
	for _, text := range []string{fmt.Sprint(p), fmt.Sprintf("%+v", p), fmt.Sprintf("%#v", p), fmt.Sprintf("%q", p)} {
		if strings.Contains(text, "t0ken") {
			t.Errorf("printed: %s", text)
		}
	}
}

func TestResolve(t *testing.T) {
	id, part := speculative.Unknown{Stack: "ns/net", Output: "id", Secret: "out", Key: "id"}, speculative.Unknown{Stack: "ns/net", Output: "part", Secret: "out", Key: "part"}
	read := func(keys ...string) speculative.Attempt {
		return func(fill speculative.Fill) (string, error) {
			text := "config"
			for _, u := range []speculative.Unknown{id, part} {
				for _, key := range keys {
					if value, ok := fill(u); u.Key == key && ok {
						text += " " + value
					}
				}
			}
			return text, nil
		}
	}
	nowhere := func(string) bool { return false }
	broken := errors.New("the API is away")
	for sentence, test := range map[string]struct {
		mentions func(string) bool
		attempt  speculative.Attempt
		want     []string
		err      error
	}{
		"what is not read is not needed":         {nowhere, read(), nil, nil},
		"what is read is needed":                 {nowhere, read("id"), []string{"output id"}, nil},
		"each is found":                          {nowhere, read("id", "part"), []string{"output id", "output part"}, nil},
		"what a template mentions may be needed": {func(key string) bool { return key == "part" }, read(), []string{"output part"}, nil},
		"only the length of a text": {nowhere, func(fill speculative.Fill) (string, error) {
			value, _ := fill(id)
			return fmt.Sprint(len(value) > 100), nil
		}, []string{"output id"}, nil},
		"only whether there is one": {nowhere, func(fill speculative.Fill) (string, error) {
			_, ok := fill(part)
			return fmt.Sprint(ok), nil
		}, []string{"output part"}, nil},
		"an error is not an answer": {nowhere, func(speculative.Fill) (string, error) { return "", broken }, nil, broken},
	} {
		t.Run(sentence, func(t *testing.T) {
			needs, err := speculative.Resolve([]speculative.Unknown{id, part}, test.mentions, test.attempt)
			var got []string
			for _, n := range needs {
				got = append(got, n.Input)
			}
			if diff := cmp.Diff(test.want, got); diff != "" || !errors.Is(err, test.err) {
				t.Errorf("%v %s", err, diff)
			}
		})
	}
}

func TestMentions(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "${{ .net.cidr }}": false, "${{ .net.id }}": true, "id": true, "idx id_ _id 1id": false, `index .net "id"`: true, "xid id": true, "my-id": true,
	} {
		if got := speculative.Mentions(text, "id"); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
