// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"encoding/json"
	"testing"
)

func TestText(t *testing.T) {
	var reply map[string]any
	if err := json.Unmarshal([]byte(`{"passed": false, "violations": [{"message": "too \"many\" nodes"}]}`), &reply); err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		"${{ .passed }}": "false",
		"no: ${{ (index .violations 0).message }}":        `no: too "many" nodes`,
		"${{ range .violations }}${{ .message }}${{end}}": `too "many" nodes`,
		"{{ .passed }} stays":                             "{{ .passed }} stays",
		"${{ and .passed (len .violations) }}":            "false",
	} {
		if got, err := Text("spec.x", in, reply); err != nil || got != want {
			t.Errorf("%s: %q, %v", in, got, err)
		}
	}
	if _, err := Text("spec.x", "${{ .missing }}", reply); err == nil || err.Error() != "spec.x: .missing has no value" {
		t.Errorf("%v", err)
	}
}
