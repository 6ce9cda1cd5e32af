// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

// Programs of the cases. They use only built-in providers, so there are no downloads.

// The revisions of sources, and the ids of their plans.
const (
	first  = "main@sha1:b8e362c206e3d0cbb7ed22ced771a0056455a2fb"
	second = "main@sha1:ed22ced771a0056455a2fbb8e362c206e3d0cbb7"
	third  = "main@sha1:0056455a2fbb8e362c206e3d0cbb7ed22ced771a"

	firstPlan  = "plan-main-b8e362c206"
	secondPlan = "plan-main-ed22ced771"
	thirdPlan  = "plan-main-0056455a2f"
)

// hello has an output and no resources.
var hello = program{"main.tf": `
variable "subject" {
  type    = string
  default = "World"
}
output "hello_world" { value = "Hello, ${var.subject}!" }
`}

// greeter has one resource, whose input is a variable.
var greeter = program{"main.tf": `
variable "subject" {
  type    = string
  default = "World"
}
resource "terraform_data" "greeting" { input = "Hello, ${var.subject}!" }
output "greeting" { value = terraform_data.greeting.output }
output "id"       { value = terraform_data.greeting.id }
`}

// follower has one resource whose input is external data: when that changes, the next plan has
// changes although program and inputs are the same.
var follower = program{"main.tf": `
variable "thing" { type = string }
data "terraform_remote_state" "thing" {
  backend = "http"
  config  = { address = var.thing }
}
resource "terraform_data" "copy" { input = data.terraform_remote_state.thing.outputs.value }
output "copy" { value = terraform_data.copy.output }
`}

// fragile has a resource that can be planned, but created only while the outside allows it.
var fragile = program{"main.tf": `
variable "command" { type = string }
resource "terraform_data" "sound" { input = "sound" }
resource "terraform_data" "fragile" {
  depends_on = [terraform_data.sound]
  triggers_replace = var.command
  provisioner "local-exec" { command = var.command }
}
`}

// typed has a variable and an output of each kind of type.
var typed = program{"main.tf": `
variable "cluster_spec" {
  type = object({ region = string, env = string, cluster = string, active = bool, nodes = number })
}
variable "zones" { type = list(string) }
output "cluster_id" { value = "${var.cluster_spec.region}:${var.cluster_spec.env}:${var.cluster_spec.cluster}" }
output "active"     { value = var.cluster_spec.active }
output "node_count" { value = var.cluster_spec.nodes }
output "azs"        { value = [for z in var.zones : "${var.cluster_spec.region}${z}"] }
`}
