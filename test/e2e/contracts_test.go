// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
)

const (
	baseType = "object({ vpc_id = string, subnets = list(string), note = optional(string) })"
	baseHCL  = `
variable "vpc" { default = "vpc-1" }
variable "subnets" { default = ["a", "b"] }
resource "terraform_data" "vpc" { input = var.vpc }
output "base" { value = { vpc_id = terraform_data.vpc.output, subnets = var.subnets } }
`
	clusterHCL = `
variable "base" { type = object({ vpc_id = string }) }
resource "terraform_data" "cluster" { input = "cluster in ${var.base.vpc_id}" }
output "cluster" { value = { endpoint = terraform_data.cluster.output } }
`
	appsHCL = `
variable "cluster" { type = object({ endpoint = string }) }
variable "base" { type = object({ subnets = list(string) }) }
resource "terraform_data" "apps" { input = "${length(var.base.subnets)} subnets, ${var.cluster.endpoint}" }
output "apps" { value = terraform_data.apps.output }
`
)

func contract(namespace, name, version, of string, grants ...string) *yubav1.Contract {
	c := &yubav1.Contract{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: yubav1.ContractSpec{Version: version, Type: of}}
	if len(grants) > 0 {
		c.Spec.Grants = []yubav1.ContractGrant{{Namespaces: grants}}
	}
	return c
}

func publishing(contract, version, output string) func(*infrav1.Terraform) {
	return func(o *infrav1.Terraform) {
		o.Spec.Publishes = append(o.Spec.Publishes, infrav1.Publication{Contract: contract, Version: version, Value: output})
	}
}

// consuming adds a consumption from NAME or NAMESPACE/NAME, as the variable of the contract's name.
func consuming(contract, versions, from string, change ...func(*infrav1.Consumption)) func(*infrav1.Terraform) {
	return func(o *infrav1.Terraform) {
		producer := reference(from)
		c := infrav1.Consumption{Contract: contract, Version: versions, From: infrav1.ProducerReference{Name: producer.Name, Namespace: producer.Namespace}, As: contract}
		for _, f := range change {
			f(&c)
		}
		o.Spec.Consumes = append(o.Spec.Consumes, c)
	}
}

// published reports whether a stack has published a number of revisions of a contract.
func published(contract string, number int64) func(*infrav1.Terraform) bool {
	return func(o *infrav1.Terraform) bool {
		return ready(o) && o.Status.Contracts != nil && slices.ContainsFunc(o.Status.Contracts.Published, func(r infrav1.PublishedRevision) bool {
			return r.Contract == contract && r.Number == number
		})
	}
}

// breaking reports whether a stack's plan waits because it breaks a contract.
func breaking(o *infrav1.Terraform) bool {
	return waiting(o) && o.BreaksContracts() && condition(o, infrav1.ConditionReady).Reason == infrav1.ReasonContractBroken
}

// breakingWith is breaking with a message.
func breakingWith(text string) func(*infrav1.Terraform) bool {
	return func(o *infrav1.Terraform) bool {
		return breaking(o) && strings.Contains(condition(o, infrav1.ConditionReady).Message, text)
	}
}

// readNumber reports whether a stack's last run read a revision.
func readNumber(as string, number int64) func(*infrav1.Terraform) bool {
	return func(o *infrav1.Terraform) bool {
		return ready(o) && o.Status.Contracts != nil && slices.ContainsFunc(o.Status.Contracts.Consumes, func(c infrav1.ConsumedContract) bool {
			return c.As == as && c.Read != nil && c.Read.Number == number
		})
	}
}

func (y *yuba) runCount(t *testing.T, obj *infrav1.Terraform) int {
	t.Helper()
	runs, err := y.content(t).Runs(t.Context(), obj.Namespace, obj.Name, 100)
	if err != nil {
		t.Fatal(err)
	}
	return len(runs.Items)
}

// tenantStacks are the stacks of a tenant, which consume from a stack of another namespace.
type tenantStacks struct{ cluster, apps *infrav1.Terraform }

// twoTenants makes a base in one namespace, and cluster and applications of two tenants.
func twoTenants(t *testing.T) (y *yuba, base *infrav1.Terraform, tenants []tenantStacks) {
	t.Helper()
	y, ns := common(t)
	blue, green := y.namespace(t), y.namespace(t)
	for _, tenant := range []string{blue, green} {
		one := tenantStacks{
			cluster: inline(tenant, "cluster", clusterHCL, auto, retryingHourly, consuming("base", "~> 1.2", ns+"/network"), publishing("cluster", "1.0.0", "cluster")),
			apps: inline(tenant, "apps", appsHCL, auto, retryingHourly, outputsTo("apps-out"),
				consuming("cluster", "~> 1.0", "cluster"), consuming("base", "~> 1.2", ns+"/network")),
		}
		tenants = append(tenants, one)
		// In reverse order: each waits for the one before.
		y.create(t, one.apps, one.cluster, contract(tenant, "cluster", "1.0.0", "object({ endpoint = string })"))
	}
	waits := y.await(t, tenants[0].apps, "it waits for its producers", failedWith(infrav1.ReasonWaiting))
	if m := condition(waits, infrav1.ConditionReady).Message; !strings.Contains(m, blue+"/cluster") || !strings.Contains(m, ns+"/network") {
		t.Errorf("Ready does not name the producers: %s", m)
	}
	base = inline(ns, "network", baseHCL, auto, publishing("base", "1.2.0", "base"))
	y.create(t, contract(ns, "base", "1.2.0", baseType, blue, green), base)
	for _, one := range tenants {
		y.await(t, one.apps, "it is ready after its producers", ready)
		y.outputIs(t, one.apps.Namespace, "apps-out", "apps", "2 subnets, cluster in vpc-1")
	}
	return y, base, tenants
}

func TestContractsConnectTheStacksOfTwoTenants(t *testing.T) {
	t.Parallel()
	y, base, tenants := twoTenants(t)

	change(t, y, base, variable("subnets", []string{"a", "b", "c"}))
	y.await(t, base, "it publishes another revision", published("base", 2))
	for _, one := range tenants {
		y.await(t, one.apps, "it reads the subnets again", readNumber("base", 2))
		y.outputIs(t, one.apps.Namespace, "apps-out", "apps", "3 subnets, cluster in vpc-1")
	}
	change(t, y, base, variable("vpc", "vpc-2"))
	for _, one := range tenants {
		y.await(t, one.cluster, "it reads another VPC", readNumber("base", 3))
		y.await(t, one.apps, "it follows its cluster", readNumber("cluster", 2))
		y.outputIs(t, one.apps.Namespace, "apps-out", "apps", "3 subnets, cluster in vpc-2")
		// The plan and the apply of a stack that publishes are two runs.
		if n := y.runCount(t, one.cluster); n != 4 {
			t.Errorf("%s had %d runs, but what it reads has changed once", one.cluster.Namespace, n)
		}
	}
	var c yubav1.Contract
	summed := func() bool {
		if err := y.client.Get(t.Context(), client.ObjectKey{Namespace: base.Namespace, Name: "base"}, &c); err != nil {
			t.Fatal(err)
		}
		return c.Status.Published == 3 && len(c.Status.Revisions) == 1 && c.Status.Revisions[0].Producer == base.Namespace+"/network"
	}
	for deadline := time.Now().Add(patience); !summed(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the contract has %d revisions: %+v", c.Status.Published, c.Status.Revisions)
		}
	}
}

func TestABreakingProducerIsStoppedAndNamesItsConsumers(t *testing.T) {
	t.Parallel()
	y, base, tenants := twoTenants(t)
	good := base.Spec.Inline["main.tf"]
	change(t, y, base, func(o *infrav1.Terraform) {
		o.Spec.Inline["main.tf"] = strings.Replace(good, "vpc_id = terraform_data.vpc.output, ", "", 1)
	})
	stopped := y.await(t, base, "its plan waits although plans are applied automatically", breaking)
	message := condition(stopped, infrav1.ConditionReady).Message
	for _, want := range []string{tenants[0].cluster.Namespace + "/cluster reads base.vpc_id, which is missing (string)",
		tenants[1].cluster.Namespace + "/cluster reads base.vpc_id", "publish 2.0.0 beside it", "Still on 1.x", "yuba approve network"} {
		if !strings.Contains(message, want) {
			t.Errorf("Ready does not say %q:\n%s", want, message)
		}
	}
	if strings.Contains(message, "/apps reads") {
		t.Errorf("Ready names stacks that do not read it:\n%s", message)
	}
	out, news, code := y.run(t, "plan", "network", "-n", base.Namespace)
	if code != 0 || !strings.Contains(news, "This plan breaks a contract") {
		t.Errorf("yuba plan: %d\n%s%s", code, out, news)
	}

	// Go on as the message says: publish the next version beside the old one.
	change(t, y, base, func(o *infrav1.Terraform) {
		o.Spec.Inline["main.tf"] = good + `output "base_v2" { value = { network = terraform_data.vpc.output } }`
		publishing("base", "2.0.0", "base_v2")(o)
	})
	y.await(t, base, "the next version is not declared", breakingWith("the Contract base has no version 2.0.0"))
	declared := contract(base.Namespace, "base", "", "")
	change(t, y, declared, func(c *yubav1.Contract) { c.Spec.Version, c.Spec.Type = "2.0.0", "object({ network = string })" })
	y.await(t, base, "both versions are published, without a person", published("base", 2))
	for _, one := range tenants {
		if n := y.runCount(t, one.cluster); n != 2 {
			t.Errorf("%s had %d runs, but what it reads has not changed", one.cluster.Namespace, n)
		}
	}
	blue := tenants[0].cluster
	change(t, y, blue, func(o *infrav1.Terraform) {
		o.Spec.Inline["main.tf"] = strings.NewReplacer("vpc_id", "network").Replace(clusterHCL)
		o.Spec.Consumes[0].Version = "~> 2.0"
	})
	y.await(t, blue, "a consumer moves to the next version", readNumber("base", 2))

	// The old version stays while somebody needs it.
	change(t, y, base, func(o *infrav1.Terraform) { o.Spec.Publishes = o.Spec.Publishes[1:] })
	kept := y.await(t, base, "it says who needs the old version", failedWith(infrav1.ReasonContractBroken))
	if m := condition(kept, infrav1.ConditionReady).Message; !strings.Contains(m, tenants[1].cluster.Namespace+"/cluster") || strings.Contains(m, blue.Namespace+"/cluster") {
		t.Errorf("Ready says %s", m)
	}
}

func TestAPlanThatReadWhatHasMovedIsMadeAgain(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	base := inline(ns, "network", baseHCL, auto, publishing("base", "1.2.0", "base"))
	cluster := inline(ns, "cluster", clusterHCL, retryingHourly, consuming("base", "~> 1.2", "network"))
	y.create(t, contract(ns, "base", "1.2.0", baseType), base, cluster)
	pinned := func(number int64) func(*infrav1.Terraform) bool {
		return func(o *infrav1.Terraform) bool {
			return waiting(o) && o.Status.Plan.Contracts != nil && len(o.Status.Plan.Contracts.Pins) == 1 && o.Status.Plan.Contracts.Pins[0].Number == number
		}
	}
	first := y.await(t, cluster, "its plan waits", pinned(1)).Status.Plan
	change(t, y, base, variable("vpc", "vpc-2"))
	second := y.await(t, cluster, "another plan waits", pinned(2)).Status.Plan
	if first.Digest == second.Digest || first.Pending == second.Pending {
		t.Errorf("the plan is the same: %+v", second)
	}
	approve(t, y, cluster)
	y.await(t, cluster, "it is applied", readNumber("base", 2))
}

func TestPrivatePartsAreReadByThoseWhoHideThem(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	const password = "correct-horse-battery-9"
	private := contract(ns, "db", "1.0.0", "object({ host = string, password = string })")
	private.Spec.Private = []string{"password"}
	db := inline(ns, "db", `
variable "password" { sensitive = true }
output "db" {
  value     = { host = "db.example", password = var.password }
  sensitive = true
}`, auto, publishing("db", "1.0.0", "db"), varsFrom("Secret", "creds"))
	const reader = `
variable "db" {
  type = object({ host = string, password = string })
}
resource "terraform_data" "a" { input = "${var.db.host} has a password of ${length(var.db.password)} characters" }`
	app := inline(ns, "app", reader, auto, retryingHourly, consuming("db", "~> 1.0", "db"))
	host := inline(ns, "host", strings.NewReplacer(", password = string", "", "${length(var.db.password)}", "some").Replace(reader), auto, retryingHourly, consuming("db", "", "db"))
	y.create(t, secretOf(ns, "creds", map[string]string{"password": password}), private, app, host, db)
	refused := y.await(t, app, "its variable shows what is private", failedWith(infrav1.ReasonContractMisfit))
	if m := condition(refused, infrav1.ConditionReady).Message; !strings.Contains(m, "db.password is private; declare the variable db with sensitive = true") {
		t.Errorf("Ready says %s", m)
	}
	y.await(t, host, "who does not read it needs not hide it", ready)
	change(t, y, app, func(o *infrav1.Terraform) {
		o.Spec.Inline["main.tf"] = strings.Replace(strings.Replace(reader, "type ", "sensitive = true\n  type ", 1), "${length", "${nonsensitive(length", 1)
		o.Spec.Inline["main.tf"] = strings.Replace(o.Spec.Inline["main.tf"], "password)}", "password))}", 1)
		o.Spec.Inline["main.tf"] = strings.Replace(o.Spec.Inline["main.tf"], "${var.db.host}", "${nonsensitive(var.db.host)}", 1)
	})
	y.await(t, app, "it hides it", ready)
	all := newSearcher(map[string]string{"the password": password})
	for _, obj := range []*infrav1.Terraform{db, app, host} {
		all.everythingReadable(t, y, obj)
	}
	change(t, y, db, func(o *infrav1.Terraform) {
		o.Spec.Inline["main.tf"] = strings.Replace(o.Spec.Inline["main.tf"], "password = var.password", "password = [var.password]", 1)
	})
	broken := y.await(t, db, "a private part of another type is a break", breaking)
	if m := condition(broken, infrav1.ConditionReady).Message; !strings.Contains(m, ns+"/app reads db.password, which is list, not string") || strings.Contains(m, "/host reads") {
		t.Errorf("Ready says %s", m)
	}
	all.everythingReadable(t, y, db)
}

func TestConsumersThatCannotConsume(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	other := y.namespace(t)
	base := inline(ns, "network", baseHCL, auto, publishing("base", "1.2.0", "base"))
	narrow := inline(ns, "narrow", `variable "base" { type = object({ vpc_id = number, zones = list(string) }) }`, auto, consuming("base", "~> 1.2", "network"))
	stranger := inline(other, "stranger", clusterHCL, auto, consuming("base", "~> 1.2", ns+"/network"))
	future := inline(ns, "future", clusterHCL, auto, consuming("base", "~> 2.0", "network"))
	optional := inline(ns, "optional", `
variable "base" { default = null }
output "is" { value = var.base == null ? "null" : "there" }`, auto, outputsTo("optional-out"),
		consuming("base", "~> 2.0", "network", func(c *infrav1.Consumption) { c.Optional = true }))
	a := inline(ns, "a", appHCL, auto, consuming("where", "", "b"), publishing("where", "1.0.0", "where"))
	b := inline(ns, "b", appHCL, auto, consuming("where", "", "a"), publishing("where", "1.0.0", "where"))
	y.create(t, contract(ns, "base", "1.2.0", baseType), base, narrow, stranger, future, optional, contract(ns, "where", "1.0.0", "string"), a, b)
	for _, c := range []struct {
		obj    *infrav1.Terraform
		reason string
		says   []string
	}{
		{narrow, infrav1.ReasonContractMisfit, []string{"base.vpc_id is string in base 1.2.0, and number in the variable base", "base.zones"}},
		{stranger, infrav1.ReasonWaiting, []string{ns + "/network has not published contract base", "does not grant namespace " + other}},
		{a, infrav1.ReasonDependencyCycle, []string{"a -> b -> a"}},
		{b, infrav1.ReasonDependencyCycle, []string{"a -> b -> a"}},
	} {
		got := condition(y.await(t, c.obj, "it says what is wrong", failedWith(c.reason)), infrav1.ConditionReady).Message
		for _, want := range c.says {
			if !strings.Contains(got, want) {
				t.Errorf("%s does not say %q: %s", c.obj.Name, want, got)
			}
		}
	}
	y.await(t, base, "the producer is not concerned", published("base", 1))
	y.await(t, future, "it says which versions there are", func(o *infrav1.Terraform) bool {
		return strings.Contains(condition(o, infrav1.ConditionReady).Message, `has not published contract base in a version of "~> 2.0"; it has 1.2.0`)
	})
	y.await(t, optional, "it runs without", ready)
	y.outputIs(t, ns, "optional-out", "is", "null")
	change(t, y, contract(ns, "base", "", ""), func(c *yubav1.Contract) {
		c.Spec.Grants = []yubav1.ContractGrant{{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": other}}}}
	})
	y.await(t, stranger, "it runs once it is granted", ready)
}
