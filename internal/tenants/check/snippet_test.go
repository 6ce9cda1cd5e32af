// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const severalMistakes = `variable "size" { type = number default = 1 }
variable "plan" {
  type = strin
}
output "o" { value = "{{ .plan }}" sensitive = true }
`

// Authors see all mistakes at once, with the lines of the program.
func TestAllMistakesOfAProgramAreShown(t *testing.T) {
	template := templateOf(t, stackOf(severalMistakes, "vars: [{name: size, value: 3}]"))
	for sentence, test := range map[string]struct {
		private bool
		last    string
	}{
		"to somebody who knows the row":    {false, `5: output "o" { value = "gold-plan-of-acme" sensitive = true }`},
		"to whoever may read the template": {true, `5: output "o" { value = "…" sensitive = true }`},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := acme()
			r.Extra["plan"] = "gold-plan-of-acme"
			findings, err := Template(t.Context(), Subject{Template: template, Row: r, Private: test.private}, nil)
			if err != nil {
				t.Fatal(err)
			}
			var lines []string
			for line := range strings.Lines(Summary(findings)) {
				line, _, _ = strings.Cut(strings.TrimSuffix(line, "\n"), ": A single-line")
				line, _, _ = strings.Cut(line, ": The keyword")
				lines = append(lines, line)
			}
			want := []string{
				"manifests[db]: main.tf:1:33: Invalid single-argument block definition", `    1: variable "size" { type = number default = 1 }`,
				"manifests[db]: main.tf:3:10: Invalid type specification", "    3: type = strin",
				"manifests[db]: main.tf:5:42: Invalid single-argument block definition", "    " + test.last,
			}
			if diff := cmp.Diff(want, lines); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got := WithoutCode(Summary(findings)); strings.Count(got, "\n") != 2 || strings.Contains(got, "    ") {
				t.Errorf("without the program it is\n%s", got)
			}
		})
	}
}
