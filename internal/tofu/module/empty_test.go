// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package module

import "testing"

func TestWhichVariablesTakeTheEmptyString(t *testing.T) {
	for declared, want := range map[string]bool{
		"string": true, "any": true, "number": false, "bool": false, "list(string)": false, "object({a=string})": false,
	} {
		m, diags := Parse(map[string][]byte{"main.tf": []byte(`variable "v" { type = ` + declared + ` }`)})
		if len(diags) > 0 {
			t.Fatal(diags)
		}
		if got := m.Variables["v"].TakesEmpty(); got != want {
			t.Errorf("%s: %v, want %v", declared, got, want)
		}
	}
}
