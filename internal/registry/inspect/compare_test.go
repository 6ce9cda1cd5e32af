// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/registry/inspect"
)

// The changes of a module's interface that callers notice, and those that they do not. Each case is
// the text of main.tf before and after, and the messages of its changes; those that break a caller
// begin with "!".
func TestCompare(t *testing.T) {
	for name, c := range map[string]struct {
		before, after string
		want          []string
	}{
		"nothing changed":                       {`variable "a" { type = string }`, `variable "a" { type = string }`, nil},
		"an input moved to another line":        {`variable "a" {}`, "\n\nvariable \"a\" {}", nil},
		"a new optional input":                  {``, `variable "a" { default = 1 }`, []string{`the optional input "a" was added`}},
		"a new required input":                  {``, `variable "a" {}`, []string{`!the input "a" is new and has no default`}},
		"a removed input":                       {`variable "a" {}`, ``, []string{`!the input "a" was removed`}},
		"a renamed input":                       {`variable "a" { description = "x" }`, `variable "b" { description = "x" }`, []string{`!the input "a" was removed; it seems to be "b" now`, `!the input "b" is new and has no default`}},
		"a renamed input without a description": {`variable "a" { type = string }`, `variable "b" { type = string }`, []string{`!the input "a" was removed; it seems to be "b" now`, `!the input "b" is new and has no default`}},
		"a default that was removed":            {`variable "a" { default = 1 }`, `variable "a" {}`, []string{`!the input "a" has no default any more`}},
		"a default that was added":              {`variable "a" {}`, `variable "a" { default = 1 }`, []string{`the input "a" has a default now`}},
		"a default that changed":                {`variable "a" { default = 1 }`, `variable "a" { default = 2 }`, []string{`the default of the input "a" changed`}},
		"string to number":                      {`variable "a" { type = string }`, `variable "a" { type = number }`, []string{`!the type of the input "a" does not accept what it did: a was string and is number`}},
		"number to string":                      {`variable "a" { type = number }`, `variable "a" { type = string }`, []string{`the type of the input "a" is wider`}},
		"any to string":                         {`variable "a" {}`, `variable "a" { type = string }`, []string{`!the type of the input "a" does not accept what it did: a was any and is string`}},
		"string to any":                         {`variable "a" { type = string }`, `variable "a" { type = any }`, []string{`the type of the input "a" is wider`}},
		"string to list":                        {`variable "a" { type = string }`, `variable "a" { type = list(string) }`, []string{`!the type of the input "a" does not accept what it did: a was string and is list(string)`}},
		"list to set":                           {`variable "a" { type = list(string) }`, `variable "a" { type = set(string) }`, []string{`!the type of the input "a" does not accept what it did: a was list(string) and is set(string)`}},
		"set to list":                           {`variable "a" { type = set(string) }`, `variable "a" { type = list(string) }`, []string{`the type of the input "a" is wider`}},
		"elements of a list":                    {`variable "a" { type = list(string) }`, `variable "a" { type = list(bool) }`, []string{`!the type of the input "a" does not accept what it did: a[*] was string and is bool`}},
		"a tuple becomes a list":                {`variable "a" { type = tuple([string, number]) }`, `variable "a" { type = list(string) }`, []string{`the type of the input "a" is wider`}},
		"an object becomes a map":               {`variable "a" { type = object({ x = string }) }`, `variable "a" { type = map(string) }`, []string{`the type of the input "a" is wider`}},
		"a map becomes an object":               {`variable "a" { type = map(string) }`, `variable "a" { type = object({ x = string }) }`, []string{`!the type of the input "a" does not accept what it did: a was map(string) and is object({x=string})`}},
		"a new optional attribute":              {`variable "a" { type = object({ x = string }) }`, `variable "a" { type = object({ x = string, y = optional(string) }) }`, []string{`the type of the input "a" is wider`}},
		"a new required attribute":              {`variable "a" { type = object({ x = string }) }`, `variable "a" { type = object({ x = string, y = string }) }`, []string{`!the type of the input "a" does not accept what it did: a.y is new and required`}},
		"an attribute that is required":         {`variable "a" { type = object({ x = optional(string) }) }`, `variable "a" { type = object({ x = string }) }`, []string{`!the type of the input "a" does not accept what it did: a.x was optional and is required`}},
		"a removed attribute":                   {`variable "a" { type = object({ x = string, y = string }) }`, `variable "a" { type = object({ x = string }) }`, []string{`!the type of the input "a" does not accept what it did: a.y was removed and is ignored`}},
		"null is refused":                       {`variable "a" {}`, `variable "a" { nullable = false }`, []string{`!the input "a" does not accept null any more`}},
		"null means the default":                {`variable "a" { default = 1 }`, "variable \"a\" {\n  default = 1\n  nullable = false\n}", []string{`the input "a" does not accept null any more; null means the default now`}},
		"ephemeral values are refused":          {`variable "a" { ephemeral = true }`, `variable "a" {}`, []string{`!the input "a" does not accept ephemeral values any more`}},
		"a sensitive input":                     {`variable "a" {}`, `variable "a" { sensitive = true }`, []string{`the input "a" is sensitive now`}},
		"a removed output":                      {`output "a" { value = 1 }`, ``, []string{`!the output "a" was removed`}},
		"a new output":                          {``, `output "a" { value = 1 }`, []string{`the output "a" was added`}},
		"a sensitive output":                    {`output "a" { value = 1 }`, "output \"a\" {\n  value = 1\n  sensitive = true\n}", []string{`!the output "a" is sensitive now`}},
		"an output that is not sensitive":       {"output \"a\" {\n  value = 1\n  sensitive = true\n}", `output "a" { value = 1 }`, []string{`the output "a" is not sensitive now`}},
		"a provider of a new resource":          {``, `resource "aws_vpc" "a" {}`, []string{`!the provider hashicorp/aws is required now`}},
		"a resource of the same provider":       {`resource "aws_vpc" "a" {}`, `resource "aws_subnet" "a" {}`, nil},
		"a provider that is not required":       {`resource "aws_vpc" "a" {}`, ``, []string{`the provider hashicorp/aws is not required any more`}},
		"a raised minimum of a provider":        {needs(`>= 5.0`), needs(`>= 5.31`), []string{`!the versions of the provider hashicorp/aws changed from ">= 5.0" to ">= 5.31", which excludes versions that worked before`}},
		"a wider range of a provider":           {needs(`~> 5.0`), needs(`>= 5.0`), []string{`the versions of the provider hashicorp/aws changed from "~> 5.0" to ">= 5.0"`}},
		"a configuration that is required":      {needs(`>= 5.0`), strings.Replace(needs(`>= 5.0`), "version", "configuration_aliases = [aws.east]\n version", 1), []string{`!callers must pass the provider configuration aws.east`}},
		"a newer tool":                          {`terraform { required_version = ">= 1.6" }`, `terraform { required_version = ">= 1.8" }`, []string{`!the versions of tofu changed from ">= 1.6" to ">= 1.8", which excludes versions that worked before`}},
		"any tool":                              {`terraform { required_version = ">= 1.6" }`, ``, []string{`the versions of tofu changed from ">= 1.6" to "any"`}},
	} {
		t.Run(name, func(t *testing.T) {
			got := messages(inspect.Compare(moduleOf(t, c.before), moduleOf(t, c.after)))
			if !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func needs(version string) string {
	return fmt.Sprintf("terraform {\n required_providers {\n aws = {\n source = \"hashicorp/aws\"\n version = %q\n}\n}\n}", version)
}

func messages(changes []inspect.Change) []string {
	var out []string
	for _, c := range changes {
		text := c.Message
		if c.Breaking {
			text = "!" + text
		}
		out = append(out, text)
	}
	return out
}

func moduleOf(t testing.TB, text string) *inspect.Module {
	t.Helper()
	m, err := readArchive(t, "main.tf", text, "variables.tf", "")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestCompareSubmodules(t *testing.T) {
	read := func(files ...string) *inspect.Module {
		m, err := readArchive(t, append(files, "main.tf", "")...)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	before := read("modules/a/main.tf", `variable "x" {}`, "modules/b/main.tf", ``, "examples/e/main.tf", `variable "x" {}`)
	after := read("modules/a/main.tf", ``, "modules/c/main.tf", ``)
	want := []string{`!the submodule modules/b was removed`, `!submodule modules/a: the input "x" was removed`, `the submodule modules/c was added`}
	if got := messages(inspect.Compare(before, after)); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestLawsOfCompare checks, over random interfaces, that an interface equals itself; that changes in
// one direction are found in the other; and that only additions that callers may leave out do not
// break anybody.
func TestLawsOfCompare(t *testing.T) {
	random := rand.New(rand.NewPCG(19, 1))
	types := []string{"", "any", "string", "number", "bool", "list(string)", "set(number)", "map(any)", "object({ a = string })", "object({ a = optional(string), b = number })", "tuple([string])"}
	generate := func() (string, string) {
		var required, rest strings.Builder
		for _, name := range []string{"a", "b", "c"} {
			if random.IntN(3) == 0 {
				continue
			}
			fmt.Fprintf(&required, "variable %q {\n", name)
			if ty := types[random.IntN(len(types))]; ty != "" {
				fmt.Fprintf(&required, "  type = %s\n", ty)
			}
			if random.IntN(2) == 0 {
				required.WriteString("  default = null\n")
			}
			fmt.Fprintf(&required, "  sensitive = %v\n  nullable = %v\n}\n", random.IntN(2) == 0, random.IntN(2) == 0)
		}
		for _, name := range []string{"x", "y"} {
			if random.IntN(2) == 0 {
				fmt.Fprintf(&required, "output %q {\n  value = 1\n}\n", name)
			}
		}
		rest.WriteString("variable \"added\" {\n  default = null\n}\noutput \"added\" {\n  value = 1\n}\n")
		return required.String(), rest.String()
	}
	for range 300 {
		text, addition := generate()
		other, _ := generate()
		m, o := moduleOf(t, text), moduleOf(t, other)
		if changes := inspect.Compare(m, m); len(changes) > 0 {
			t.Fatalf("%s\ndiffers from itself: %q", text, messages(changes))
		}
		if forth, back := inspect.Compare(m, o), inspect.Compare(o, m); (len(forth) == 0) != (len(back) == 0) {
			t.Fatalf("%s\nand\n%s\nforth %q, back %q", text, other, messages(forth), messages(back))
		}
		if changes := inspect.Compare(m, moduleOf(t, text+addition)); len(inspect.Breaking(changes)) > 0 || len(changes) != 2 {
			t.Fatalf("%s\nand an addition: %q", text, messages(changes))
		}
	}
}
