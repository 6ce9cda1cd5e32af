// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/scope"
)

const published1 = `{"vpc_id":"vpc-1","subnets":["a","b"]}`

func TestAConsumerReadsItsPart(t *testing.T) {
	w := newWorld(t, contract("base", "1.2.0", baseType), stack("network", publishing("base", "1.2.0", "base")),
		stack("cluster", consuming("base", "~> 1.2", "network")))
	if c := w.consume(t, in("prod", "cluster"), map[string]string{"base": "object({vpc_id = string})"}); c.Waiting != "Waiting: prod/network has not published contract base" || c.WaitsFor != "prod/network" {
		t.Errorf("before: %+v", c)
	}
	w.publish(t, "network", object(baseOutput, published1))
	c := w.consume(t, in("prod", "cluster"), map[string]string{"base": "object({vpc_id = string})"})
	if got := string(c.Values["base"].JSON); got != `{"vpc_id":"vpc-1"}` || c.Values["base"].Private {
		t.Errorf("the variable is %s", got)
	}
	want := []infrav1.ConsumedContract{{As: "base", Contract: "base", From: "prod/network", Version: "~> 1.2", Type: "object({vpc_id = string})", Reads: []string{"vpc_id"}, Nullable: true}}
	if diff := cmp.Diff(want, c.Status); diff != "" {
		t.Error(diff)
	}
	first := c.Pins[0]
	w.publish(t, "network", object(baseOutput, `{"vpc_id":"vpc-1","subnets":["c"]}`))
	c = w.consume(t, in("prod", "cluster"), map[string]string{"base": "object({vpc_id = string})"})
	if c.Pins[0].Part != first.Part || c.Pins[0].Number != 2 {
		t.Errorf("another part has changed: %+v, then %+v", first, c.Pins[0])
	}
}

func TestDeclarations(t *testing.T) {
	optional := func(c *infrav1.Consumption) { c.Optional = true }
	reads := func(paths ...string) func(*infrav1.Consumption) {
		return func(c *infrav1.Consumption) { c.Reads = paths }
	}
	private := func(c *yubav1.Contract) { c.Status.Versions[0].Private = []string{"vpc_id"} }
	for sentence, test := range map[string]struct {
		versions string
		change   []func(*infrav1.Consumption)
		contract func(*yubav1.Contract)
		variable string
		// problem or waiting is what is said, value the variable's.
		problem, waiting, value string
	}{
		"it fits":                           {variable: "object({vpc_id = string})", value: `{"vpc_id":"vpc-1"}`},
		"everything":                        {variable: "any", value: `{"note":null,"subnets":["a","b"],"vpc_id":"vpc-1"}`},
		"named paths only":                  {variable: "any", change: []func(*infrav1.Consumption){reads("subnets[0]")}, value: `{"subnets":["a"]}`},
		"there is no such variable":         {problem: `cannot consume contract base of prod/network as var.base: the program does not declare a variable "base"`},
		"it narrows":                        {variable: "object({vpc_id = number})", problem: "base.vpc_id is string in base 1.2.0, and number in the variable base"},
		"a path that is not there":          {variable: "any", change: []func(*infrav1.Consumption){reads("zones")}, problem: `base.zones base 1.2.0 does not have`},
		"a path that cannot be parsed":      {variable: "any", change: []func(*infrav1.Consumption){reads("a[")}, problem: `reads: `},
		"no version":                        {variable: "any", versions: "latest", problem: `the versions "latest"`},
		"a version that is not published":   {variable: "any", versions: "~> 2.0", waiting: `prod/network has not published contract base in a version of "~> 2.0"; it has 1.2.0`},
		"optional, and nobody publishes it": {variable: "any", versions: "~> 2.0", change: []func(*infrav1.Consumption){optional}, value: "null"},
		"it shows what is private":          {variable: "object({vpc_id = string})", contract: private, problem: "base.vpc_id is private"},
		"it reads what is not private":      {variable: "object({subnets = list(string)})", contract: private, value: `{"subnets":["a","b"]}`},
		"it hides what is private":          {variable: "secret object({vpc_id = string})", contract: private, value: `{"vpc_id":"vpc-1"}`},
	} {
		t.Run(sentence, func(t *testing.T) {
			of := contract("base", "1.2.0", baseType)
			if test.contract != nil {
				test.contract(of)
			}
			versions := test.versions
			if versions == "" {
				versions = "~> 1.2"
			}
			w := newWorld(t, of, stack("network", publishing("base", "1.2.0", "base")), stack("cluster", consuming("base", versions, "network", test.change...)))
			w.publish(t, "network", object(baseOutput, published1))
			variables := map[string]string{}
			if test.variable != "" {
				variables["base"] = test.variable
			}
			c := w.consume(t, in("prod", "cluster"), variables)
			if !strings.Contains(c.Problem, test.problem) || (c.Problem == "") != (test.problem == "") {
				t.Errorf("the problem is %q", c.Problem)
			}
			if !strings.Contains(c.Waiting, test.waiting) || (c.Waiting == "") != (test.waiting == "") {
				t.Errorf("it waits: %q", c.Waiting)
			}
			if got := string(c.Values["base"].JSON); got != test.value {
				t.Errorf("the variable is %s", got)
			}
			if strings.HasPrefix(test.variable, "secret ") && (!c.Values["base"].Private || !strings.HasPrefix(c.Pins[0].Part, "hmac-sha256:")) {
				t.Errorf("it is not treated as private: %+v", c.Pins)
			}
		})
	}
}

func TestOtherNamespacesConsumeWhatIsGranted(t *testing.T) {
	const lacking = "the Contract prod/base does not exist, or does not grant namespace team-a (spec.grants)"
	for sentence, test := range map[string]struct {
		grants  []yubav1.ContractGrant
		tenant  string
		waiting string
	}{
		"nothing is granted":               {nil, "", lacking},
		"by name":                          {[]yubav1.ContractGrant{{Namespaces: []string{"team-b", "team-a"}}}, "", ""},
		"another name":                     {[]yubav1.ContractGrant{{Namespaces: []string{"team-b"}}}, "", lacking},
		"by label":                         {[]yubav1.ContractGrant{{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}}}, "", ""},
		"by another label":                 {[]yubav1.ContractGrant{{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "b"}}}}, "", lacking},
		"all":                              {[]yubav1.ContractGrant{{Selector: &metav1.LabelSelector{}}}, "", ""},
		"never from one tenant to another": {[]yubav1.ContractGrant{{Namespaces: []string{"team-a"}}}, "acme", "the stack prod/network belongs to another tenant"},
	} {
		t.Run(sentence, func(t *testing.T) {
			of := contract("base", "1.2.0", baseType)
			of.Spec.Grants = test.grants
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team-a", Labels: map[string]string{"team": "a"}}}
			producer := stack("network", publishing("base", "1.2.0", "base"))
			if test.tenant != "" {
				producer.Labels = scope.Scope(test.tenant).Labels()
			}
			consumer := stack("cluster", consuming("base", "", "network"), func(t *infrav1.Terraform) {
				t.Namespace, t.Labels = "team-a", scope.Scope("beta").Labels()
			})
			w := newWorld(t, of, producer, consumer, namespace)
			w.publish(t, "network", object(baseOutput, published1))
			c := w.consume(t, in("team-a", "cluster"), map[string]string{"base": "any"})
			if !strings.Contains(c.Waiting, test.waiting) || (c.Waiting == "") != (test.waiting == "") || c.Problem != "" {
				t.Errorf("it waits: %q, problem %q", c.Waiting, c.Problem)
			}
		})
	}
}

func TestWhatHasMovedSinceAPlan(t *testing.T) {
	w := newWorld(t, contract("base", "1.2.0", baseType), stack("network", publishing("base", "1.2.0", "base")), stack("cluster", consuming("base", "", "network")))
	w.publish(t, "network", object(baseOutput, published1))
	variables := map[string]string{"base": "object({vpc_id = string})"}
	parts := map[string]string{"base": w.consume(t, in("prod", "cluster"), variables).Pins[0].Part}
	for i, test := range []struct{ value, want string }{
		{`{"vpc_id":"vpc-1","subnets":[]}`, ""},
		{`{"vpc_id":"vpc-2","subnets":[]}`, "contract base of prod/network has changed since the plan read it"},
	} {
		w.publish(t, "network", object(baseOutput, test.value))
		got, err := w.Moved(t.Context(), w.get(t, in("prod", "cluster")), parts)
		if err != nil || got != test.want {
			t.Errorf("%d: %q (%v)", i, got, err)
		}
	}
}

// Of 500 consumers, those run that read what has changed.
func TestOnlyThoseThatReadWhatHasChangedSeeAChange(t *testing.T) {
	const consumers, readers = 500, 5
	objs := []*infrav1.Terraform{stack("network", publishing("base", "1.2.0", "base"))}
	variables := map[string]map[string]string{}
	for i := range consumers {
		name, ty := fmt.Sprintf("stack-%03d", i), "object({vpc_id = string})"
		if i%(consumers/readers) == 0 {
			ty = "object({subnets = list(string)})"
		}
		variables[name] = map[string]string{"base": ty}
		objs = append(objs, stack(name, consuming("base", "~> 1.0", "network")))
	}
	w := newWorld(t, contract("base", "1.2.0", baseType))
	for _, o := range objs {
		if err := w.client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	w.publish(t, "network", object(baseOutput, published1))
	before := map[string]string{}
	for name := range variables {
		before[name] = string(w.consume(t, in("prod", name), variables[name]).Values["base"].JSON)
	}
	w.publish(t, "network", object(baseOutput, `{"vpc_id":"vpc-1","subnets":["c"]}`))
	changed := 0
	for name := range variables {
		if string(w.consume(t, in("prod", name), variables[name]).Values["base"].JSON) != before[name] {
			changed++
		}
	}
	if changed != readers {
		t.Errorf("%d of %d consumers see a change, not %d", changed, consumers, readers)
	}
}
