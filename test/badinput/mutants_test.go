// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package badinput

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"unicode/utf8"
)

// healthy is a valid program that uses many features.
const healthy = `terraform {
  required_version = ">= 1.6"
}
variable "names" {
  type    = list(string)
  default = ["a", "b"]
}
locals {
  greeting = "Hello, ${join(", ", var.names)}!"
  sizes    = { for i, n in var.names : n => i if n != "" }
}
resource "terraform_data" "each" {
  for_each = toset(var.names)
  input = {
    name = each.key
    size = local.sizes[each.key]
    text = <<-EOT
      %{if each.key == "a"}first%{else}other%{endif}
    EOT
  }
  lifecycle {
    precondition {
      condition     = length(each.key) > 0
      error_message = "Names are not empty."
    }
  }
}
output "all" {
  value = [for r in terraform_data.each : r.output.name]
}
`

// mutants are randomly damaged programs. However they end, they meet the requirements.
func mutants(count int, seed uint64) []*badInput {
	r := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a seed that is printed, so that a failure can be had again
	var all []*badInput
	for i := range count {
		text := healthy
		for range 1 + r.IntN(3) {
			text = damage(r, text)
		}
		all = append(all, &badInput{Name: fmt.Sprintf("mutant-%d-%d", seed, i), Ends: endsSettled, HCL: strings.ToValidUTF8(text, string(utf8.RuneError))})
	}
	return all
}

// damage makes one change to a text.
func damage(r *rand.Rand, text string) string {
	if len(text) < 2 {
		return text
	}
	at := r.IntN(len(text) - 1)
	end := min(len(text), at+1+r.IntN(20))
	const odd = "{}[]()\"$%\\<>=,.:!?&|\n\x01é\u202e\uFEFF0"
	switch r.IntN(6) {
	case 0: // cut off
		return text[:at]
	case 1: // a hole
		return text[:at] + text[end:]
	case 2: // something odd
		runes := []rune(odd)
		return text[:at] + string(runes[r.IntN(len(runes))]) + text[at:]
	case 3: // a part twice
		return text[:end] + text[at:]
	case 4: // two parts that changed places
		return text[end:] + text[:end]
	default: // another word for a word
		words := strings.Fields(text)
		return strings.Replace(text, words[r.IntN(len(words))], words[r.IntN(len(words))], 1)
	}
}
