// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/yuba-dev/yuba/internal/policy/facts"
)

// planOf is a plan that is written by hand, in the form of `tofu show -json`: the real providers of
// clouds cannot be had in tests.
func planOf(t *testing.T, kind, actions, before, after, unknown, sensitive string) *facts.Document {
	t.Helper()
	show := fmt.Sprintf(`{"format_version":"1.2","terraform_version":"1.12.6","resource_changes":[{"address":"%s.x","mode":"managed","type":"%s","name":"x","provider_name":"registry.opentofu.org/hashicorp/any",
		"change":{"actions":[%s],"before":%s,"after":%s,"after_unknown":%s,"before_sensitive":{},"after_sensitive":%s}}],"configuration":{"root_module":{}}}`, kind, kind, actions, before, after, unknown, sensitive)
	d, err := facts.Build(facts.Inputs{Stage: facts.StagePlan, Show: []byte(show)})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestNoIAMKnows(t *testing.T) {
	const create, update, remove = `"create"`, `"update"`, `"delete"`
	for sentence, c := range map[string]struct {
		kind, actions, before, after, unknown, sensitive string
		want                                             string // object, unknown, or nothing
	}{
		"a role":                                {"aws_iam_role", create, `null`, `{"name":"a"}`, `{}`, `{}`, "object"},
		"a role that goes":                      {"aws_iam_role", remove, `{"name":"a"}`, `null`, `{}`, `{}`, "object"},
		"a bucket's policy":                     {"aws_s3_bucket_policy", update, `{"policy":"a"}`, `{"policy":"b"}`, `{}`, `{}`, "object"},
		"a grant of a key":                      {"aws_kms_grant", create, `null`, `{}`, `{}`, `{}`, "object"},
		"a permission to call":                  {"aws_lambda_permission", create, `null`, `{}`, `{}`, `{}`, "object"},
		"an access entry":                       {"aws_eks_access_policy_association", create, `null`, `{}`, `{}`, `{}`, "object"},
		"a stack of CloudFormation":             {"aws_cloudformation_stack", update, `{"a":1}`, `{"a":2}`, `{}`, `{}`, "object"},
		"cloud control":                         {"aws_cloudcontrolapi_resource", create, `null`, `{}`, `{}`, `{}`, "object"},
		"a role of awscc":                       {"awscc_iam_role", create, `null`, `{}`, `{}`, `{}`, "object"},
		"a queue with a policy":                 {"aws_sqs_queue", create, `null`, `{"name":"q","policy":"{}"}`, `{}`, `{}`, "object"},
		"a queue without one":                   {"aws_sqs_queue", create, `null`, `{"name":"q","policy":""}`, `{}`, `{}`, ""},
		"a queue whose policy is not known":     {"aws_sqs_queue", create, `null`, `{"name":"q"}`, `{"policy":true}`, `{}`, "unknown"},
		"a queue whose policy stays":            {"aws_sqs_queue", update, `{"delay":1,"policy":"{}"}`, `{"delay":2,"policy":"{}"}`, `{}`, `{}`, ""},
		"a queue whose policy goes":             {"aws_sqs_queue", update, `{"policy":"{}"}`, `{"policy":null}`, `{}`, `{}`, "object"},
		"an instance with a profile":            {"aws_instance", create, `null`, `{"ami":"a","iam_instance_profile":"p"}`, `{}`, `{}`, "object"},
		"a template with a profile, inside":     {"aws_launch_template", update, `{"iam_instance_profile":[{"name":"a"}]}`, `{"iam_instance_profile":[{"name":"b"}]}`, `{}`, `{}`, "object"},
		"an instance whose tags change":         {"aws_instance", update, `{"tags":{"a":"1"},"iam_instance_profile":"p"}`, `{"tags":{"a":"2"},"iam_instance_profile":"p"}`, `{}`, `{}`, ""},
		"a sensitive policy that changes":       {"aws_sqs_queue", update, `{"policy":"one-secret-policy"}`, `{"policy":"two-secret-policy"}`, `{}`, `{"policy":true}`, "unknown"},
		"a lifecycle policy of images":          {"aws_ecr_lifecycle_policy", create, `null`, `{"policy":"{}"}`, `{}`, `{}`, ""},
		"a network":                             {"aws_vpc", create, `null`, `{"cidr_block":"10.0.0.0/8"}`, `{"id":true,"arn":true}`, `{}`, ""},
		"a member of a bucket":                  {"google_storage_bucket_iam_member", create, `null`, `{}`, `{}`, `{}`, "object"},
		"a key of a service account":            {"google_service_account_key", create, `null`, `{}`, `{}`, `{}`, "object"},
		"a machine with a service account":      {"google_compute_instance", create, `null`, `{"service_account":[{"email":"a@b"}]}`, `{}`, `{}`, "object"},
		"a machine without one":                 {"google_compute_instance", create, `null`, `{"service_account":[]}`, `{}`, `{}`, ""},
		"an assignment of a role":               {"azurerm_role_assignment", create, `null`, `{}`, `{}`, `{}`, "object"},
		"a group of a directory":                {"azuread_group_member", create, `null`, `{}`, `{}`, `{}`, "object"},
		"a machine with an identity":            {"azurerm_linux_virtual_machine", create, `null`, `{"identity":[{"type":"UserAssigned"}]}`, `{}`, `{}`, "object"},
		"any resource of Azure":                 {"azapi_resource", create, `null`, `{}`, `{}`, `{}`, "object"},
		"a role of a cluster":                   {"kubernetes_cluster_role_binding_v1", create, `null`, `{}`, `{}`, `{}`, "object"},
		"a chart":                               {"helm_release", update, `{"a":1}`, `{"a":2}`, `{}`, `{}`, "object"},
		"a manifest of a role":                  {"kubernetes_manifest", create, `null`, `{"manifest":{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role"}}`, `{}`, `{}`, "object"},
		"a manifest of a map":                   {"kubernetes_manifest", create, `null`, `{"manifest":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}}`, `{}`, `{}`, ""},
		"a manifest of users":                   {"kubernetes_manifest", create, `null`, `{"manifest":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"aws-auth"}}}`, `{}`, `{}`, "object"},
		"a manifest whose kind is not known":    {"kubernetes_manifest", create, `null`, `{"manifest":{"apiVersion":"v1"}}`, `{"manifest":{"kind":true}}`, `{}`, "unknown"},
		"a manifest that is not known":          {"kubernetes_manifest", create, `null`, `{}`, `{"manifest":true}`, `{}`, "unknown"},
		"a list with a role in it":              {"kubernetes_manifest", create, `null`, `{"manifest":{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding"}]}}`, `{}`, `{}`, "object"},
		"a second document with a role":         {"kubectl_manifest", create, `null`, `{"yaml_body":"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: Role\n"}`, `{}`, `{}`, "object"},
		"a sensitive manifest, parsed":          {"kubectl_manifest", create, `null`, `{"yaml_body":"kind: Secret-of-all","yaml_body_parsed":"apiVersion: v1\nkind: ServiceAccount\n"}`, `{}`, `{"yaml_body":true}`, "object"},
		"a sensitive manifest":                  {"kubectl_manifest", create, `null`, `{"yaml_body":"kind: Secret-of-all"}`, `{"yaml_body_parsed":true}`, `{"yaml_body":true}`, "unknown"},
		"a manifest of a Pod with an account":   {"kubernetes_manifest", create, `null`, `{"manifest":{"apiVersion":"apps/v1","kind":"Deployment","spec":{"template":{"spec":{"serviceAccountName":"admin"}}}}}`, `{}`, `{}`, "object"},
		"a manifest that becomes a map":         {"kubernetes_manifest", update, `{"manifest":{"apiVersion":"v1","kind":"ServiceAccount"}}`, `{"manifest":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}}`, `{}`, `{}`, "object"},
		"a deployment with an account":          {"kubernetes_deployment", create, `null`, `{"spec":[{"template":[{"spec":[{"service_account_name":"admin"}]}]}]}`, `{}`, `{}`, "object"},
		"a deployment without one":              {"kubernetes_deployment", create, `null`, `{"spec":[{"template":[{"spec":[{"service_account_name":"default"}]}]}]}`, `{}`, `{}`, ""},
		"a deployment that is not known":        {"kubernetes_deployment", create, `null`, `{}`, `{"spec":true}`, `{}`, "unknown"},
		"the users of a cluster":                {"kubernetes_config_map_v1", update, `{"metadata":[{"name":"aws-auth"}],"data":{"a":"1"}}`, `{"metadata":[{"name":"aws-auth"}],"data":{"a":"2"}}`, `{}`, `{}`, "object"},
		"a map with a name that is not known":   {"kubernetes_config_map_v1", create, `null`, `{"metadata":[{}]}`, `{"metadata":[{"name":true}]}`, `{}`, "unknown"},
		"a map with another name":               {"kubernetes_config_map_v1", create, `null`, `{"metadata":[{"name":"a"}]}`, `{}`, `{}`, ""},
		"a token":                               {"kubernetes_secret_v1", create, `null`, `{"metadata":[{"name":"a"}],"type":"kubernetes.io/service-account-token"}`, `{}`, `{}`, "object"},
		"annotations of an account":             {"kubernetes_annotations", create, `null`, `{"api_version":"v1","kind":"ServiceAccount"}`, `{}`, `{}`, "object"},
		"an action that is not known":           {"aws_vpc", `"shrink"`, `{}`, `{}`, `{}`, `{}`, "unknown"},
		"a type that the list does not contain": {"acme_widget", create, `null`, `{"policy":"a"}`, `{}`, `{}`, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			d := planOf(t, c.kind, c.actions, c.before, c.after, c.unknown, c.sensitive)
			check, err := Prepare("no-iam", nil)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			findings := check.Judge(d, monday).Findings
			for _, f := range findings {
				if got = "object"; f.Unknown {
					got = "unknown"
				}
			}
			if got != c.want {
				t.Errorf("got %q, want %q: %+v", got, c.want, findings)
			}
		})
	}
}

func TestParametersAreStrict(t *testing.T) {
	for rule, parameters := range map[string]string{
		"no-destroy": `{"type":["a"]}`, "no-iam": `{"types":"a"}`, "max-changes": `{"total":-1}`, "approved-modules": `{"modules":["./x"]}`, "approved-providers": `{"providers":["aws"]}`,
		"pinned-versions": `{"refs":"branch"}`, "change-window": `{"windows":[{"from":"9","to":"17:00"}]}`, "contract-safe": `{"unknown":"maybe"}`, "no-such-rule": ``, "no-forget": `{} {}`,
	} {
		if _, err := Prepare(rule, json.RawMessage(parameters)); err == nil {
			t.Errorf("%s takes %s", rule, parameters)
		}
	}
}
