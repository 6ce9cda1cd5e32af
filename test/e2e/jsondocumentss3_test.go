// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/testkit/s3test"
	"github.com/yuba-dev/yuba/internal/testkit/ssmtest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// The stacks base, cluster and applications of the talk, which exchange JSON documents in a bucket.
const (
	documentsInS3 = `
provider "aws" { s3_use_path_style = true }
variable "bucket" { type = string }
variable "tenant" { type = string }
variable "subnets" { default = ["a", "b"] }
module "documents" {
  source  = "registry.example.com/yuba/s3_json_store/aws"
  version = "~> 1.0"
  bucket  = var.bucket
  path    = "/configuration"
`
	s3Base = documentsInS3 + `
  name = "base"
  data = { networking = { vpc_id = terraform_data.vpc.output, subnets = var.subnets } }
}
resource "terraform_data" "vpc" { input = "vpc-${var.tenant}" }
`
	s3Cluster = documentsInS3 + `
  name                 = "cluster"
  include_filter_regex = "base"
  data                 = { endpoint = terraform_data.cluster.output }
}
resource "terraform_data" "cluster" { input = nonsensitive("cluster in ${module.documents.values["base"]["networking"]["vpc_id"]}") }
`
	s3Applications = documentsInS3 + `
  include_filter_regex = "(base|cluster|addons)"
  sensitive            = false
}
locals {
  subnets = length(module.documents.values["base"]["networking"]["subnets"])
  addons  = try(module.documents.values["addons"]["names"], [])
}
output "apps" { value = join(", ", concat(["${local.subnets} subnets", module.documents.values["cluster"]["endpoint"]], local.addons)) }
`
)

// TestJSONDocumentsInS3: base, cluster and applications run unchanged for two tenants with documents in
// S3; then a stack with contracts reads one of the documents and writes another, while the rest stays.
func TestJSONDocumentsInS3(t *testing.T) {
	t.Parallel()
	y := alone(t, "--registry-host", "registry.example.com", "--provider-mirror", tofutest.AWSMirror(t))
	y.do(t, "registry", "push", "--recursive", filepath.Join(tofutest.RepositoryRoot(t), "modules"))
	tenants, buckets := map[string]documentsTenant{}, map[string]*s3test.Server{}
	for _, name := range []string{"tenant-a", "tenant-b"} {
		s, bucket := documentsTenant{ns: y.namespace(t)}, s3test.New(t, name)
		environment := append(ssmtest.New(t).Environment(), bucket.Environment()...) // the former server also answers STS
		s.credentials(t, y, append(environment, "TF_VAR_tenant="+name, "TF_VAR_bucket="+name))
		for _, obj := range []*infrav1.Terraform{s.stack("base", s3Base), s.stack("cluster", s3Cluster), s.stack("apps", s3Applications)} {
			y.create(t, obj)
			y.await(t, obj, obj.Name+" is ready", ready)
		}
		tenants[name], buckets[name] = s, bucket
	}
	a, b := tenants["tenant-a"], tenants["tenant-b"]
	apps := func(s documentsTenant, want string) {
		t.Helper()
		y.eventually(t, "the applications see "+want, func() string {
			if got := s.outputs(t, y, "apps"); got != "apps="+want {
				return got
			}
			return ""
		})
	}
	apps(a, "2 subnets, cluster in vpc-tenant-a")
	apps(b, "2 subnets, cluster in vpc-tenant-b")

	base := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: a.ns, Name: "base"}}
	change(t, y, base, variable("subnets", []string{"a", "b", "c"}))
	y.eventually(t, "base writes another document", func() string {
		if text := string(buckets["tenant-a"].Object(t, "configuration/base.json")); !strings.Contains(text, `["a","b","c"]`) {
			return text
		}
		return ""
	})
	y.do(t, "replan", a.ns+"/apps")
	apps(a, "3 subnets, cluster in vpc-tenant-a")
	apps(b, "2 subnets, cluster in vpc-tenant-b")

	store := func(key string) yubav1.BridgeStore {
		return yubav1.BridgeStore{S3: &yubav1.S3Store{Bucket: "tenant-a", Key: key, Region: s3test.Region, Endpoint: buckets["tenant-a"].URL}, CredentialsSecret: &yubav1.BridgeSecretReference{Name: "aws"}}
	}
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: a.ns, Name: name} }
	for _, o := range []client.Object{
		contract(a.ns, "base", "1.0.0", "object({ networking = object({ vpc_id = string }) })"), contract(a.ns, "addons", "1.0.0", "object({ names = list(string) })"),
		&yubav1.ContractBridge{ObjectMeta: meta("base-in-s3"), Spec: yubav1.ContractBridgeSpec{Contract: "base", Version: "1.0.0", Direction: yubav1.BridgeIn, Store: store("configuration/base.json")}},
		&yubav1.ContractBridge{ObjectMeta: meta("addons-to-s3"), Spec: yubav1.ContractBridgeSpec{Contract: "addons", Direction: yubav1.BridgeOut,
			From: &yubav1.BridgeProducer{Name: "addons"}, Store: store("configuration/addons.json")}},
	} {
		if err := y.client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	addons := inline(a.ns, "addons", `
variable "base" { type = object({ networking = object({ vpc_id = string }) }) }
output "addons" { value = { names = ["dns of ${var.base.networking.vpc_id}"] } }
`, auto, consuming("base", "~> 1.0", "base-in-s3"), publishing("addons", "1.0.0", "addons"))
	y.create(t, addons)
	y.await(t, addons, "the moved stack publishes", published("addons", 1))
	y.eventually(t, "the bridge writes its document", func() string {
		if text := string(buckets["tenant-a"].Object(t, "configuration/addons.json")); text != `{"names":["dns of vpc-tenant-a"]}` {
			return text
		}
		return ""
	})
	y.do(t, "replan", a.ns+"/apps")
	apps(a, "3 subnets, cluster in vpc-tenant-a, dns of vpc-tenant-a")
	apps(b, "2 subnets, cluster in vpc-tenant-b")
}
