// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/run"
)

// FuzzMasker: whatever the secret and the line, JSON stays JSON and the secret is gone from every string in it.
func FuzzMasker(f *testing.F) {
	f.Add("hunter2", `{"@level":"info","@message":"pw hunter2","type":"x"}`)
	f.Add("a\"b\\c<>&", `{"m":"a\"b\\c\u003c\u003e\u0026"}`)
	f.Add("line one\nline two", `{"m":["line two",{"line one":1}]}`)
	f.Add("${x}", `plain $${x} text`)
	f.Fuzz(func(t *testing.T, secret, line string) {
		m := newMasker(&run.Spec{Env: []run.EnvVar{{Name: "S", Value: secret, Secret: true}}})
		masked := m.line([]byte(line))
		if json.Valid([]byte(line)) && !json.Valid(masked) {
			t.Fatalf("%q became %q", line, masked)
		}
		text := strings.TrimSpace(secret)
		var value any
		if len(text) < minSecret || text == "true" || text == "false" || text == "null" || strings.Contains(maskMark, text) || json.Unmarshal(masked, &value) != nil {
			return
		}
		object, ok := value.(map[string]any)
		if !ok {
			return
		}
		for name, item := range object {
			if s, isText := item.(string); isText && name == "@message" && strings.Contains(strings.ReplaceAll(s, maskMark, ""), text) && !strings.Contains(s, maskMark) {
				t.Errorf("%q is in %q", text, s)
			}
		}
	})
}

// FuzzAddresses: a state that somebody else wrote never breaks the reading of it.
func FuzzAddresses(f *testing.F) {
	f.Add([]byte(`{"version":4,"resources":[{"module":"module.m","mode":"managed","type":"t","name":"n","instances":[{"index_key":"a\"b"},{"index_key":1},{}]}]}`))
	f.Add([]byte(`{"encrypted_data":"x"}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(_ *testing.T, state []byte) {
		addresses(state)
		serialOf(state)
		completeState(state)
	})
}
