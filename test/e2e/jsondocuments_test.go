// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
	"github.com/yuba-dev/yuba/internal/testkit/ssmtest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// The programs of a talk about Terraform at reasonable scale, as on its slides: stacks exchange JSON
// documents in SSM through modules. What the slides leave out, their cloud resources, is
// terraform_data here.
const (
	slideBase = `
provider "aws" {}

variable "clientId" { type = string }

resource "terraform_data" "vpc" { input = "vpc-${var.clientId}" }

module "ssm_service_data" {
  source  = "registry.example.com/foo/ssm_json_store/aws"
  version = "~> 1.0.2"

  path = "/configuration"
  name = "base"
  data = {
    clientId          = var.clientId
    domain            = "stage.${var.clientId}.tld"
    environment       = "stage"
    environment_class = "non-prod"
    networking = {
      vpc_id         = terraform_data.vpc.output
      subnet_k8s_ids = ["subnet-1", "subnet-2"]
    }
  }
  cluster = {
    name            = "${var.clientId}-stage"
    oidc_issuer_url = "https://oidc.${var.clientId}.tld"
  }
}
`
	slideUpstream = `
provider "aws" {}

resource "terraform_data" "sns" { input = "arn:aws:sns:foo" }

module "ssm_service_data" {
  source  = "registry.example.com/foo/ssm_json_store/aws"
  version = "~> 1.0.2"

  path = "/configuration"
  name = "upstream"
  data = {
    installed = true

    private = {}
    public = {
      sns = {
        "foo" = {
          "arn"  = terraform_data.sns.output
          "name" = "foo"
        }
      }
    }
  }
}
`
	slideDownstream = `
provider "aws" {}

module "ssm_data" {
  source  = "registry.example.com/foo/ssm_json_store/aws"
  version = "~> 0.1.0"

  path                 = "/configuration"
  include_filter_regex = "(base|upstream)"
}

resource "terraform_data" "sns_sqs_subscription_foo" {
  count = try(module.ssm_data.values["upstream"]["installed"], false) ? 1 : 0
  input = nonsensitive(module.ssm_data.values["upstream"]["public"]["sns"]["foo"]["arn"])
}

output "subscribed" { value = join(",", terraform_data.sns_sqs_subscription_foo[*].output) }
output "vpc" { value = nonsensitive(module.ssm_data.values["base"]["networking"]["vpc_id"]) }
`
	slideFoo = `
provider "aws" {}

variable "config_map_base_path" { default = "/configuration" }

locals {
  service      = "foo"
  domain_name  = module.ssm_data.values["base"]["domain"]
  cluster_name = module.ssm_data.values["base"]["cluster"]["name"]
  client       = nonsensitive(module.ssm_data.values["base"]["clientId"])
  environment  = nonsensitive(module.ssm_data.values["base"]["environment"])
  env_class    = nonsensitive(module.ssm_data.values["base"]["environment_class"])

  configuration = {
    default = {
      k8s_namespace      = local.service
      rds_instance_class = "db.t4g.medium"
    }
    tenant-a = {
      stage = { rds_instance_class = "db.r6g.medium" }
    }
  }

  selected_configuration = merge(
    local.configuration["default"],
    try(local.configuration[local.client][local.environment], {})
  )
}

module "ssm_data" {
  source  = "registry.example.com/foo/ssm_full_json_store/aws"
  version = "0.3.1"

  path                 = var.config_map_base_path
  include_filter_regex = "(base|foo|bar)"
}

output "class" { value = local.selected_configuration["rds_instance_class"] }
output "cluster" { value = nonsensitive(local.cluster_name) }
`
)

// tenant is a namespace with an account of its own.
type documentsTenant struct {
	ns  string
	ssm *ssmtest.Server
}

func newDocumentsTenant(t *testing.T, y *yuba, name string, ssm *ssmtest.Server) documentsTenant {
	t.Helper()
	s := documentsTenant{y.namespace(t), ssm}
	keys := map[string]string{"TF_VAR_clientId": name}
	for _, pair := range s.ssm.Environment() {
		key, value, _ := strings.Cut(pair, "=")
		keys[key] = value
	}
	err := y.client.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "aws"}, StringData: keys})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s documentsTenant) stack(name, hcl string, change ...func(*infrav1.Terraform)) *infrav1.Terraform {
	return inline(s.ns, name, hcl, append(change, auto, func(o *infrav1.Terraform) {
		o.Spec.EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "aws"}}}}
		o.Spec.WriteOutputsToSecret = &infrav1.WriteOutputsToSecretSpec{Name: o.Name + "-outputs"}
	})...)
}

// outputs reads the Secret with the outputs of a stack.
func (s documentsTenant) outputs(t *testing.T, y *yuba, name string) string {
	t.Helper()
	var secret corev1.Secret
	if err := y.client.Get(t.Context(), client.ObjectKey{Namespace: s.ns, Name: name + "-outputs"}, &secret); err != nil {
		return err.Error()
	}
	var parts []string
	for _, key := range []string{"class", "cluster", "vpc", "subscribed"} {
		if value, ok := secret.Data[key]; ok {
			parts = append(parts, key+"="+string(value))
		}
	}
	return strings.Join(parts, " ")
}

// TestJSONDocumentsInSSM: the talk's stacks run unchanged for two tenants, with the modules that it
// promised, from Yuba's registry; then one of its documents becomes a contract, and a contract one of
// its documents, so that a fleet can move stack by stack.
func TestJSONDocumentsInSSM(t *testing.T) {
	t.Parallel()
	stores := map[string]*ssmtest.Server{"tenant-a": ssmtest.New(t), "tenant-b": ssmtest.New(t)}
	// Only the bridges of tenant-a are used.
	y := alone(t, "--registry-host", "registry.example.com", "--provider-mirror", tofutest.AWSMirror(t),
		"--contract-store-endpoints", strings.TrimPrefix(stores["tenant-a"].URL, "http://"))
	modules := filepath.Join(tofutest.RepositoryRoot(t), "modules")
	for _, m := range []string{"ssm_json_store/aws@0.1.0", "ssm_json_store/aws@1.0.2", "ssm_full_json_store/aws@0.3.1"} {
		name, _, _ := strings.Cut(m, "/")
		y.do(t, "registry", "push", filepath.Join(modules, name), "foo/"+m)
	}
	y.do(t, "registry", "push", "--recursive", modules)
	tenants := map[string]documentsTenant{}
	for name, class := range map[string]string{"tenant-a": "db.r6g.medium", "tenant-b": "db.t4g.medium"} {
		s := newDocumentsTenant(t, y, name, stores[name])
		tenants[name] = s
		base, foo, downstream := s.stack("base", slideBase), s.stack("foo", slideFoo), s.stack("downstream", slideDownstream)
		y.create(t, base)
		y.await(t, base, "base is ready", ready)
		for _, obj := range []*infrav1.Terraform{foo, downstream} {
			y.create(t, obj)
			y.await(t, obj, obj.Name+" is ready", ready)
		}
		if got, want := s.outputs(t, y, "foo"), fmt.Sprintf("class=%s cluster=%s-stage", class, name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		if got, want := s.outputs(t, y, "downstream"), "vpc=vpc-"+name+" subscribed="; got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	// One tenant installs upstream; only its downstream sees that.
	a := tenants["tenant-a"]
	upstream := a.stack("upstream", slideUpstream)
	y.create(t, upstream)
	y.await(t, upstream, "upstream is ready", ready)
	y.do(t, "replan", a.ns+"/downstream")
	y.eventually(t, "downstream subscribes", func() string {
		if got := a.outputs(t, y, "downstream"); got != "vpc=vpc-tenant-a subscribed=arn:aws:sns:foo" {
			return got
		}
		return ""
	})
	halfMoved(t, y, a)
}

// halfMoved moves the exchange of one tenant to contracts in both directions: a stack with a contract
// consumes base from SSM, and a slide's stack reads what a contract's producer publishes.
func halfMoved(t *testing.T, y *yuba, a documentsTenant) {
	t.Helper()
	store := func(name string) yubav1.BridgeStore {
		return yubav1.BridgeStore{SSM: &yubav1.SSMStore{Name: name, Region: ssmtest.Region, Endpoint: a.ssm.URL}, CredentialsSecret: &yubav1.BridgeSecretReference{Name: "aws"}}
	}
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: a.ns, Name: name} }
	objects := []client.Object{
		&yubav1.Contract{ObjectMeta: meta("base"), Spec: yubav1.ContractSpec{Version: "1.0.0", Type: "object({ domain = string, networking = object({ vpc_id = string }) })"}},
		&yubav1.Contract{ObjectMeta: meta("upstream"), Spec: yubav1.ContractSpec{Version: "1.0.0",
			Type: "object({ installed = bool, public = object({ sns = map(object({ arn = string })) }) })"}},
		&yubav1.ContractBridge{ObjectMeta: meta("base-in-ssm"), Spec: yubav1.ContractBridgeSpec{Contract: "base", Version: "1.0.0", Direction: yubav1.BridgeIn, Store: store("/configuration/base")}},
	}
	for _, o := range objects {
		if err := y.client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	moved := a.stack("moved", `
variable "base" { type = object({ networking = object({ vpc_id = string }) }) }
output "vpc" { value = var.base.networking.vpc_id }
output "upstream" { value = { installed = true, public = { sns = { foo = { arn = "arn:of:${var.base.networking.vpc_id}" } } } } }
`, func(o *infrav1.Terraform) {
		o.Spec.Consumes = []infrav1.Consumption{{Contract: "base", Version: "~> 1.0", From: infrav1.ProducerReference{Name: "base-in-ssm"}, As: "base"}}
		o.Spec.Publishes = []infrav1.Publication{{Contract: "upstream", Version: "1.0.0", Value: "upstream"}}
	})
	y.create(t, moved)
	y.await(t, moved, "the moved stack is ready", ready)
	if got := a.outputs(t, y, "moved"); got != "vpc=vpc-tenant-a" {
		t.Fatal(got)
	}
	// The document belongs to the slide's stack upstream, so the bridge does not take it.
	bridge := &yubav1.ContractBridge{ObjectMeta: meta("upstream-out"), Spec: yubav1.ContractBridgeSpec{Contract: "upstream", Direction: yubav1.BridgeOut,
		From: &yubav1.BridgeProducer{Name: "moved"}, Store: store("/configuration/upstream")}}
	if err := y.client.Create(t.Context(), bridge); err != nil {
		t.Fatal(err)
	}
	is := func(reason string) {
		t.Helper()
		y.eventually(t, "the bridge is "+reason, func() string {
			if err := y.client.Get(t.Context(), client.ObjectKeyFromObject(bridge), bridge); err != nil {
				return err.Error()
			}
			if c := conditions.Of(bridge, infrav1.ConditionReady); c.Reason != reason {
				return c.Reason + ": " + c.Message
			}
			return ""
		})
	}
	is(yubav1.ReasonBridgeConflict)
	// The old stack leaves, its document goes with it, and the bridge writes the contract's.
	upstream := &infrav1.Terraform{ObjectMeta: meta("upstream")}
	if err := y.client.Get(t.Context(), client.ObjectKeyFromObject(upstream), upstream); err != nil {
		t.Fatal(err)
	}
	change(t, y, upstream, func(o *infrav1.Terraform) { o.Spec.DestroyResourcesOnDeletion = true })
	if err := y.client.Delete(t.Context(), upstream); err != nil {
		t.Fatal(err)
	}
	y.eventually(t, "the old document is gone", func() string {
		if strings.Contains(a.ssm.Values()["/configuration/upstream"], "aws:sns:foo") {
			return "it is there"
		}
		return ""
	})
	before := bridge.DeepCopy()
	bridge.Annotations = map[string]string{infrav1.AnnotationReconcile: "now"}
	if err := y.client.Patch(t.Context(), bridge, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	is(yubav1.ReasonBridgeSynced)
	y.do(t, "replan", a.ns+"/downstream")
	y.eventually(t, "the slide's stack reads the contract", func() string {
		if got := a.outputs(t, y, "downstream"); !strings.Contains(got, "subscribed=arn:of:vpc-tenant-a") {
			return got
		}
		return ""
	})
	contractForExternalSecrets(t, y, a)
}

// contractForExternalSecrets reads a contract as External Secrets' webhook provider does: with a token
// that may read the contracts of one stack, and nothing else.
func contractForExternalSecrets(t *testing.T, y *yuba, a documentsTenant) {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: a.ns, Name: "eso"}
	for _, o := range []client.Object{
		&corev1.ServiceAccount{ObjectMeta: meta},
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{APIGroups: []string{"content.yuba.dev"}, Resources: []string{"terraforms/contract"},
			ResourceNames: []string{"moved"}, Verbs: []string{"get"}}}},
		&rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "eso"},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: a.ns, Name: "eso"}}},
	} {
		if err := y.client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	token, _ := y.do(t, "kubectl", "-n", a.ns, "create", "token", "eso")
	config, err := kubetest.Config(y.kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	config = rest.AnonymousClientConfig(config)
	https, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	get := func(stack, query string) string {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, config.Host+"/apis/content.yuba.dev/v1alpha1/namespaces/"+a.ns+"/terraforms/"+stack+"/contract?"+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(token))
		answer, err := https.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close() //nolint:errcheck // only read
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	var answer struct{ Value, Version string }
	if text := get("moved", "property=upstream.public.sns.foo.arn"); json.Unmarshal([]byte(text), &answer) != nil || answer.Value != "arn:of:vpc-tenant-a" || answer.Version != "1.0.0" {
		t.Error(text)
	}
	for query, says := range map[string]string{
		"property=upstream":                   `"value":"{\"installed\":true`,
		"contract=upstream&property=public.x": "upstream.public.x does not exist",
		"property=other.a":                    "the Contract " + a.ns + "/other does not exist",
		"":                                    "neither contract=NAME",
	} {
		if text := get("moved", query); !strings.Contains(text, says) {
			t.Errorf("%s: %s, want %q", query, text, says)
		}
	}
	if text := get("base-in-ssm", "property=base.domain"); !strings.Contains(text, "forbidden") {
		t.Error("a token for one stack reads another:", text)
	}
}
