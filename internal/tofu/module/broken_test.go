// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func mistakesOf(text string) []string {
	_, diags := Parse(map[string][]byte{"main.tf": []byte(text)})
	var out []string
	for _, d := range diags.Errors() {
		out = append(out, fmt.Sprintf("%d:%d %s", d.Line, d.Column, d.Summary))
	}
	return out
}

// Whoever has made several mistakes is told of all of them at once.
func TestAllMistakesOfAFileAreTold(t *testing.T) {
	for sentence, test := range map[string]struct {
		text string
		want []string
	}{
		"one in each block, of syntax and of meaning": {`variable "a" { type = string sensitive = true }
variable "b" {
  type = strin
  default = 1
}
output "o" { value = var.a sensitive = true }
resource "ok" "ok" {}
output "q" { value = }
`, []string{"1:30 Invalid single-argument block definition", "3:10 Invalid type specification", "6:28 Invalid single-argument block definition", "8:22 Invalid expression"}},
		"several in one block": {`resource "x" "y" {
  a = 
  b = 1 2
  c = [1, 2
}
`, []string{"2:7 Invalid expression", "3:9 Missing newline after argument", "5:1 Missing item separator"}},
		"a quote that is not closed spoils its line alone": {`resource "x" "y" {
  name = "unclosed
  z    = 1
  t    = {
    b = 
  }
}
output "p" {
  value = 1 +
}
`, []string{"2:19 Invalid multi-line string", "5:9 Invalid expression", "9:14 Invalid expression"}},
		"a brace that is missing spoils its block alone": {`resource "x" "y" {
  tags = {
    a = 1
}

variable "v" {
  type = what
}
`, []string{"1:18 Unclosed configuration block", "7:10 Invalid type specification"}},
		"what looks like a block in a heredoc is text": {`resource "x" "y" {
  script = <<-EOT
resource "a" "b" {
EOT
  a = 
}
variable "w" {
  default = <<EOT
variable "w" {
EOT
}
`, []string{"5:7 Invalid expression"}},
		"a file without mistakes": {"variable \"a\" {}\n", nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(test.want, mistakesOf(test.text)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// What can be read of a broken file is known all the same, and the lines that are shown are those
// of the file.
func TestSoundBlocksOfABrokenFileAreRead(t *testing.T) {
	m, diags := Parse(map[string][]byte{"main.tf": []byte("variable \"a\" {}\noutput \"b\" { value = }\nvariable \"c\" {}\n")})
	if diff := cmp.Diff([]string{"a", "c"}, m.VariableNames()); diff != "" {
		t.Error(diff)
	}
	if s := diags[0].Snippet; s == nil || s.Code != `output "b" { value = }` || s.StartLine != 2 || s.Context != `output "b"` {
		t.Errorf("it is shown as %+v", s)
	}
}

// Mistakes in many blocks are found in no time, and told up to a number.
func TestManyMistakesAreFoundSoon(t *testing.T) {
	block := "resource \"x\" \"y%d\" {\n" + strings.Repeat("  a = 1 2\n", 5) + "}\n"
	var text strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&text, block, i)
	}
	if got := len(mistakesOf(text.String())); got != maxDiagnostics {
		t.Errorf("%d are told", got)
	}
}
