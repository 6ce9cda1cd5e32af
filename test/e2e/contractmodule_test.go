// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
)

// publishesThrough is a program that gives a value to the module of a contract.
func publishesThrough(module, version, value string) string {
	return `
resource "terraform_data" "vpc" { input = "vpc-1" }
module "base" {
  source  = "registry.example.com/contracts/` + module + `/publish"
  version = "` + version + `"
  value   = ` + value + `
}
output "base" { value = module.base.value }
`
}

// TestTofuChecksTheProducerOfAContract: the registry makes a module of each version of a contract, and
// tofu refuses a producer whose value has another type; what is unknown until the apply passes.
func TestTofuChecksTheProducerOfAContract(t *testing.T) {
	t.Parallel()
	y := alone(t, "--registry-host", "registry.example.com")
	ns, other, stranger := y.namespace(t), y.namespace(t), y.namespace(t)
	base := contract(ns, "base", "1.2.0", baseType, other)
	base.Spec.Validations = []yubav1.ContractValidation{{Rule: "self.subnets.size() >= 2", Message: "two subnets at least"}}
	if err := y.client.Create(t.Context(), base); err != nil {
		t.Fatal(err)
	}
	says := func(reason, text string) func(*infrav1.Terraform) bool {
		return func(o *infrav1.Terraform) bool {
			c := condition(o, infrav1.ConditionReady)
			return c.Reason == reason && strings.Contains(strings.Join(strings.Fields(c.Message), " "), text)
		}
	}
	const fits = `{ vpc_id = terraform_data.vpc.id, subnets = ["a", "b"] }`
	network := inline(ns, "network", publishesThrough("base", "~> 1.2", fits), auto, retryingHourly, publishing("base", "1.2.0", "base"))
	y.create(t, network)
	y.await(t, network, "what fits is published", published("base", 1))
	change(t, y, network, program(publishesThrough("base", "~> 1.2", `{ subnets = ["a", "b"] }`)))
	y.await(t, network, "tofu refuses what breaks the type", says(infrav1.ReasonPlanFailed, `attribute "vpc_id" is required`))
	change(t, y, network, program(publishesThrough("base", "~> 1.2", `{ vpc_id = null, subnets = ["a", "b"] }`)))
	y.await(t, network, "tofu refuses null", says(infrav1.ReasonPlanFailed, "value.vpc_id is null"))
	change(t, y, network, program(publishesThrough("base", "~> 1.2", `{ vpc_id = terraform_data.vpc.id, subnets = ["a"] }`)))
	y.await(t, network, "tofu refuses what a validation refuses", says(infrav1.ReasonPlanFailed, "two subnets at least"))
	change(t, y, network, program(publishesThrough("base", "1.2.0", `{ vpc_id = terraform_data.vpc.id, subnets = ["a", "c"] }`)))
	y.await(t, network, "what fits again is published", published("base", 2))

	// Stacks of a granted namespace check their values, too; others learn nothing.
	granted := inline(other, "granted", publishesThrough(ns+"_base", "1.2.0", fits), auto)
	y.create(t, granted)
	y.await(t, granted, "a granted namespace reads it", ready)
	for source, text := range map[string]string{ns + "_base": "may not read it (spec.grants)", "base": "may not read it (spec.grants)"} {
		one := inline(stranger, "stranger-"+strings.TrimPrefix(source, ns+"_")+strings.Repeat("x", strings.Count(source, "_")), publishesThrough(source, "1.2.0", fits), auto, retryingHourly)
		y.create(t, one)
		y.await(t, one, "a stranger does not read "+source, says(infrav1.ReasonInitFailed, text))
	}
}
