// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path"

	"github.com/yuba-dev/yuba/internal/testkit/gittest"
)

// environments are the top directories of a fleet's repository.
var environments = []string{"development", "staging", "production"}

// content describes the resources of a fleet's stacks.
type content struct {
	// provider is true for objects of the test provider, false for terraform_data.
	provider bool
	// lines is the number of lines of text in each resource; it sets the size of the states.
	lines int
}

// Lines for states of 20 and 200 KiB with ten objects of the test provider, and of 20 KiB with ten
// terraform_data, which store their input twice. A line has 96 bytes; the rest is 6 KiB.
const (
	linesFor20KiB     = 15
	linesFor200KiB    = 206
	dataLinesFor20KiB = 8
)

// stackName is the name of a stack, as an object and in the cloud.
func stackName(i int) string {
	return fmt.Sprintf("%s-service-%04d", environments[i%len(environments)], i)
}

// stackPath is the root module of a stack in the repository.
func stackPath(i int) string {
	return path.Join("environments", environments[i%len(environments)], fmt.Sprintf("service-%04d", i))
}

// stackNames are the names of all stacks of a fleet.
func stackNames(size int) []string {
	names := make([]string, size)
	for i := range names {
		names[i] = stackName(i)
	}
	return names
}

// repository is a typical setup for a thousand stacks: one repository with a folder for each
// environment, a small root module for each stack in it, and modules that all of them share.
func repository(size int, c content) gittest.Files {
	files := gittest.Files{
		"README.md":                  "Services by environment; what they have in common is in modules.\n",
		"modules/naming/main.tf":     namingModule,
		"modules/service/main.tf":    c.serviceModule(),
		"modules/service/outputs.tf": c.serviceOutputs(),
	}
	for i := range size {
		files[stackPath(i)+"/main.tf"] = rootModule(i, "first")
		files[stackPath(i)+"/outputs.tf"] = rootOutputs
	}
	return files
}

const namingModule = `variable "environment" { type = string }
variable "service" { type = string }

output "prefix" {
  value = "${var.environment}-${var.service}"
}
`

// rootModule is the program of one stack. Plain tofu uses the default of its setting; Yuba takes
// the value from a ConfigMap.
func rootModule(i int, release string) string {
	return fmt.Sprintf(`variable "setting" {
  type    = string
  default = "as it comes"
}

module "naming" {
  source      = "../../../modules/naming"
  environment = %q
  service     = "service-%04d"
}

module "service" {
  source  = "../../../modules/service"
  prefix  = module.naming.prefix
  release = %q
}
`, environments[i%len(environments)], i, release)
}

const rootOutputs = `output "ids" {
  value = module.service.ids
}

output "setting" {
  value = var.setting
}
`

// serviceModule creates the resources. Digests make their text as hard to compress as real states.
func (c content) serviceModule() string {
	const variables = `variable "prefix" { type = string }
variable "release" { type = string }
`
	text := fmt.Sprintf(`join("\n", concat(["release ${var.release}"], [for line in range(%d) :
    "${line}: ${sha256("${var.prefix}-${count.index}-${line}")} as it was told to keep it"]))`, c.lines)
	if !c.provider {
		return fmt.Sprintf(`%s
resource "terraform_data" "x" {
  count = %d
  input = %s
}
`, variables, fleetResources, text)
	}
	return fmt.Sprintf(`terraform {
  required_providers {
    yubatest = { source = "yuba-dev/yubatest" }
  }
}

%s
resource "yubatest_object" "x" {
  count   = %d
  name    = "${var.prefix}-${count.index}"
  content = %s
}
`, variables, fleetResources, text)
}

func (c content) serviceOutputs() string {
	kind := "terraform_data"
	if c.provider {
		kind = "yubatest_object"
	}
	return fmt.Sprintf("output \"ids\" {\n  value = %s.x[*].id\n}\n", kind)
}
