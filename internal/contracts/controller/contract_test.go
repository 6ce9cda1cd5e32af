// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
)

func TestContractsAreAdmitted(t *testing.T) {
	declares := func(version, of string, change ...func(*yubav1.ContractSpec)) yubav1.ContractSpec {
		s := yubav1.ContractSpec{Version: version, Type: of}
		for _, f := range change {
			f(&s)
		}
		return s
	}
	example := func(value string) func(*yubav1.ContractSpec) {
		return func(s *yubav1.ContractSpec) {
			s.Examples = []yubav1.ContractExample{{Name: "small", Value: apiextensionsv1.JSON{Raw: []byte(value)}}}
		}
	}
	valid := func(rule string) func(*yubav1.ContractSpec) {
		return func(s *yubav1.ContractSpec) { s.Validations = []yubav1.ContractValidation{{Rule: rule}} }
	}
	for sentence, test := range map[string]struct {
		spec     yubav1.ContractSpec
		reason   string
		says     string
		versions string
	}{
		"a version that grew":                {declares("1.3.0", "object({ vpc_id = string, subnets = list(string), note = optional(string), cidr = optional(string) })"), yubav1.ReasonContractDeclared, "version 1.3.0 can be published and consumed, as can 1.2.0; no stack publishes it yet", "1.2.0 1.3.0"},
		"the same again":                     {declares("1.2.0", baseType), yubav1.ReasonContractDeclared, "version 1.2.0 can be", "1.2.0"},
		"a type that cannot be parsed":       {declares("1.3.0", "object({ vpc_id = strin })"), yubav1.ReasonInvalidType, "spec.type: ", "1.2.0"},
		"a version with another type":        {declares("1.2.0", "string"), yubav1.ReasonVersionExists, "exists with another type", "1.2.0"},
		"a break in a minor version":         {declares("1.3.0", "object({vpc_id = string})"), yubav1.ReasonBreakingChange, "Declare it as version 2.0.0", "1.2.0"},
		"a private path that is not there":   {declares("1.3.0", baseType, func(s *yubav1.ContractSpec) { s.Private = []string{"password"} }), yubav1.ReasonInvalidPath, "spec.private: ", "1.2.0"},
		"a validation of what is not there":  {declares("1.3.0", baseType, valid("self.zones.size() > 0")), yubav1.ReasonInvalidValidation, "spec.validations: ", "1.2.0"},
		"an example that does not fit":       {declares("1.3.0", baseType, example(`{"subnets":[]}`)), yubav1.ReasonInvalidExample, "spec.examples: small: base.vpc_id is missing", "1.2.0"},
		"an example that is not valid":       {declares("1.3.0", baseType, valid("self.subnets.size() > 0"), example(`{"vpc_id":"a","subnets":[]}`)), yubav1.ReasonInvalidExample, "spec.examples: small: ", "1.2.0"},
		"an example that fits and is valid":  {declares("1.2.0", baseType, valid("self.subnets.size() > 0"), example(`{"vpc_id":"a","subnets":["b"]}`)), yubav1.ReasonContractDeclared, "", "1.2.0"},
		"a version before, for an old major": {declares("1.1.0", "object({vpc_id = string, subnets = list(string)})"), yubav1.ReasonContractDeclared, "", "1.1.0 1.2.0"},
	} {
		t.Run(sentence, func(t *testing.T) {
			c := contract("base", "1.2.0", baseType)
			c.Spec, c.Generation = test.spec, 3
			describe(t.Context(), c, nil, now)
			ready := conditions.Of(c, "Ready")
			if ready.Reason != test.reason || !strings.Contains(ready.Message, test.says) {
				t.Errorf("%s: %s", ready.Reason, ready.Message)
			}
			if stalled := conditions.Of(c, "Stalled").Status == metav1.ConditionTrue; stalled == (ready.Status == metav1.ConditionTrue) || c.Status.ObservedGeneration != 3 {
				t.Errorf("Stalled is %v", stalled)
			}
			var versions []string
			for _, v := range c.Status.Versions {
				versions = append(versions, v.Version)
			}
			if strings.Join(versions, " ") != test.versions {
				t.Errorf("the versions are %v", versions)
			}
		})
	}
}

func TestVersionsAreBounded(t *testing.T) {
	c := contract("base")
	var publishes []infrav1.Terraform
	declare := func(major string) string {
		c.Spec = yubav1.ContractSpec{Version: major + ".0.0", Type: "object({v" + major + " = string})"}
		describe(t.Context(), c, publishes, now)
		return conditions.Of(c, "Ready").Reason
	}
	digits := func(i int) string {
		return strings.TrimLeft(string([]byte{'0' + byte(i/100), '0' + byte(i/10%10), '0' + byte(i%10)}), "0")
	}
	for i := 1; i <= maxVersions; i++ {
		if reason := declare(digits(i)); reason != yubav1.ReasonContractDeclared {
			t.Fatalf("version %d: %s", i, reason)
		}
	}
	publishes = append(publishes, *stack("network", publishing("base", "1.0.0", "base")))
	if reason := declare("101"); reason != yubav1.ReasonContractDeclared || len(c.Status.Versions) != maxVersions || c.Status.Versions[0].Version != "1.0.0" || c.Status.Versions[1].Version != "3.0.0" {
		t.Errorf("%s: %d versions, the first ones %s and %s", reason, len(c.Status.Versions), c.Status.Versions[0].Version, c.Status.Versions[1].Version)
	}
}
