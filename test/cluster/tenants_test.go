// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/tenants/row"
	"github.com/yuba-dev/yuba/internal/testkit/gittest"
	"github.com/yuba-dev/yuba/internal/testkit/standintest"
	"github.com/yuba-dev/yuba/internal/testkit/tenanttest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
	"github.com/yuba-dev/yuba/test/cloud"
)

// tenantExample is a file of examples/tenants, with what its tenant acme has in the cluster.
type tenantExample struct {
	file, template string
	// vars are variables of its stacks with the address of a service.
	vars        func(host string, port int64) map[string]any
	secrets     []string
	deployments map[string]int32
	// kept are the stacks that outlive the tenant.
	kept []string
}

var tenantExamples = []tenantExample{
	{file: "s3.yaml", template: "tenant-with-s3", secrets: []string{"acme-s3-outputs"}, deployments: map[string]int32{"acme-s3-app": 1}},
	{file: "rds.yaml", template: "tenant-with-rds", secrets: []string{"acme-db-credentials"}, deployments: map[string]int32{"acme-rds-app": 2}, kept: []string{"acme-rds"}},
	{file: "cdn.yaml", template: "tenant-with-cdn", secrets: []string{"acme-cdn-outputs"}},
	{file: "git.yaml", template: "tenant-with-git-modules", secrets: []string{"acme-infra-outputs"}},
	{file: "kafka.yaml", template: "tenant-with-kafka", secrets: []string{"acme-kafka-outputs"}, vars: func(host string, port int64) map[string]any {
		return map[string]any{"kafka_bootstrap_servers": []any{net.JoinHostPort(host, strconv.FormatInt(port, 10)), "kafka-broker-2:9092"}}
	}},
	{file: "rabbitmq.yaml", template: "tenant-with-rabbitmq", secrets: []string{"acme-rabbitmq-credentials"}, vars: func(host string, port int64) map[string]any {
		return map[string]any{"rabbitmq_endpoint": "http://" + net.JoinHostPort(host, strconv.FormatInt(port, 10))}
	}},
	{file: "postgresql.yaml", template: "tenant-with-pg-schema", secrets: []string{"acme-postgres-credentials"}, kept: []string{"acme-pg-schema"},
		vars: func(host string, port int64) map[string]any { return map[string]any{"pg_host": host, "pg_port": port} }},
	{file: "redis.yaml", template: "tenant-with-redis", secrets: []string{"acme-redis-config"}},
	{file: "enterprise.yaml", template: "enterprise-tenant-stack", secrets: []string{"acme-infrastructure", "acme-access"},
		deployments: map[string]int32{"acme-enterprise-app": 2}, kept: []string{"acme-infrastructure"}},
}

// Each example runs from a row to running Pods and back, with runs in Pods, and stand-ins for the
// providers of clouds: the runner Pods find them in a directory of the node.
func TestExamplesOfTenantsHaveRealDeployments(t *testing.T) {
	mirror := t.TempDir()
	must(t, standintest.Build(t, mirror))
	for _, e := range tenantExamples {
		t.Run(e.file, func(t *testing.T) { tryTenant(t, e, mirror) })
	}
}

// tenantTrial is an example in progress.
type tenantTrial struct {
	tenantExample
	*tenanttest.Home
	cloud  *cloud.Cloud
	mirror string
}

func tryTenant(t *testing.T, e tenantExample, mirror string) {
	ns := &corev1.Namespace{}
	ns.GenerateName = "tenants-"
	must(t, api.Create(t.Context(), ns))
	t.Cleanup(func() { removeTeam(t, ns.Name) })
	c, err := cloud.StartAt(net.JoinHostPort(nodeAddress(t), "0"))
	must(t, err)
	t.Cleanup(c.Close)
	x := &tenantTrial{tenantExample: e, cloud: c, mirror: mirror,
		Home: &tenanttest.Home{Client: api, Namespace: ns.Name, Log: func() string { return "" }}}
	x.make(t, &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": map[string]any{"name": infrav1.DefaultServiceAccount}}})
	for _, file := range []string{"credentials.yaml", "registry.yaml", e.file} {
		for _, o := range x.read(t, file) {
			x.make(t, o)
		}
	}
	x.AwaitTemplate(t, x.template, tenantv1.ConditionValid, "True", tenantv1.ReasonValidationPassed)
	tenant := row.TenantName("acme", x.template)
	x.setRows(t, `[{id: acme, url: "https://acme.example.com/shop", is_active: "1", plan: enterprise}]`)
	x.AwaitReady(t, tenant)
	x.hasAll(t)
	x.setRows(t, "[]")
	x.AwaitGone(t, tenant, &tenantv1.Tenant{})
	x.hasNothing(t)
}

// read reads a file of examples/tenants and adapts it: the services of the test, and the node's
// images instead of a registry's.
func (x *tenantTrial) read(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(tofutest.RepositoryRoot(t), "examples", "tenants", file))
	must(t, err)
	var all []*unstructured.Unstructured
	for _, document := range strings.Split(string(text), "\n---\n") {
		o := &unstructured.Unstructured{}
		must(t, yaml.Unmarshal([]byte(document), &o.Object))
		switch o.GetKind() {
		case "ConfigMap":
			o.Object["data"] = map[string]any{"rows.yaml": "[]"}
		case "Secret":
			x.letIn(t, o)
		case "GitRepository":
			must(t, unstructured.SetNestedField(o.Object, x.publish(t), "spec", "url"))
		case tenantv1.TenantTemplateKind:
			x.direct(t, o)
		}
		all = append(all, o)
	}
	return all
}

func (x *tenantTrial) make(t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	o.SetNamespace(x.Namespace)
	must(t, api.Create(t.Context(), o))
}

// letIn replaces the credentials: the cloud's token is every password.
func (x *tenantTrial) letIn(t *testing.T, secret *unstructured.Unstructured) {
	t.Helper()
	values, _, err := unstructured.NestedStringMap(secret.Object, "stringData")
	must(t, err)
	for key := range values {
		if strings.HasSuffix(key, "password") || key == "AWS_SECRET_ACCESS_KEY" {
			values[key] = x.cloud.Token()
		}
	}
	if secret.GetName() == "aws-credentials" {
		values["AWS_ENDPOINT_URL"] = x.cloud.URL()
	}
	must(t, unstructured.SetNestedStringMap(secret.Object, values, "stringData"))
}

// direct adapts a template: addresses of services, the providers of the node, and this cluster for
// the Deployments.
func (x *tenantTrial) direct(t *testing.T, template *unstructured.Unstructured) {
	t.Helper()
	unstructured.RemoveNestedField(template.Object, "spec", "kubeConfig")
	parsed, err := url.Parse(x.cloud.URL())
	must(t, err)
	port, err := strconv.ParseInt(parsed.Port(), 10, 64)
	must(t, err)
	vars := map[string]any{}
	if x.vars != nil {
		vars = x.vars(parsed.Hostname(), port)
	}
	each(t, template, "manifests", func(spec map[string]any) {
		const plugins = "/usr/local/share/terraform/plugins"
		spec["runnerPodTemplate"] = map[string]any{"spec": map[string]any{
			"volumes":      []any{map[string]any{"name": "providers", "hostPath": map[string]any{"path": x.mirror, "type": "Directory"}}},
			"volumeMounts": []any{map[string]any{"name": "providers", "mountPath": plugins, "readOnly": true}},
		}}
		for _, v := range asList(spec["vars"]) {
			if value, ours := vars[asMap(v)["name"].(string)]; ours {
				asMap(v)["value"] = value
			}
		}
	})
	each(t, template, "deployments", func(spec map[string]any) {
		pod := asMap(asMap(asMap(spec)["template"])["spec"])
		for _, c := range asList(pod["containers"]) {
			asMap(c)["imagePullPolicy"] = "Never"
		}
		pod["terminationGracePeriodSeconds"] = int64(0)
	})
}

// each changes the specs of a template's objects.
func each(t *testing.T, template *unstructured.Unstructured, kind string, change func(map[string]any)) {
	t.Helper()
	objects, _, err := unstructured.NestedSlice(template.Object, "spec", kind)
	must(t, err)
	for _, o := range objects {
		change(asMap(asMap(asMap(o)["spec"])["spec"]))
	}
	if objects != nil {
		must(t, unstructured.SetNestedSlice(template.Object, objects, "spec", kind))
	}
}

func asMap(v any) map[string]any { return v.(map[string]any) }

func asList(v any) []any {
	list, _ := v.([]any) //nolint:errcheck // absent is empty
	return list
}

// publish creates a repository with the example's modules, for Flux.
func (x *tenantTrial) publish(t *testing.T) string {
	t.Helper()
	central := gittest.New(t, gittest.Listen(nodeAddress(t))).Repository(t, "terraform-modules")
	dir := filepath.Join(tofutest.RepositoryRoot(t), "examples", "tenants", "modules", "tenant-stack")
	entries, err := os.ReadDir(dir)
	must(t, err)
	files := gittest.Files{}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		must(t, err)
		files["modules/tenant-stack/"+entry.Name()] = string(content)
	}
	central.Commit(t, "what each tenant gets", files)
	return central.URL()
}

func (x *tenantTrial) setRows(t *testing.T, rows string) {
	t.Helper()
	table := &corev1.ConfigMap{}
	table.Namespace, table.Name = x.Namespace, "tenants"
	must(t, api.Patch(t.Context(), table, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"data":{"rows.yaml":%q}}`, rows))))
}

// hasAll checks what a ready tenant has: outputs, and Deployments whose Pods run with them.
func (x *tenantTrial) hasAll(t *testing.T) {
	t.Helper()
	for _, name := range x.secrets {
		var secret corev1.Secret
		x.Get(t, name, &secret)
		if len(secret.Data) == 0 {
			t.Errorf("the Secret %s is empty", name)
		}
	}
	for name, replicas := range x.deployments {
		var d appsv1.Deployment
		x.Get(t, name, &d)
		if d.Status.AvailableReplicas != replicas {
			t.Errorf("the tenant is ready, and the Deployment %s is %+v", name, d.Status)
		}
	}
	if x.file != "redis.yaml" && len(x.cloud.Names("")) == 0 {
		t.Error("the cloud has nothing")
	}
}

// hasNothing checks that a tenant without a row has left only what it was to leave.
func (x *tenantTrial) hasNothing(t *testing.T) {
	t.Helper()
	var pods corev1.PodList
	eventually(t, "the Pods of Deployments are gone", func() string {
		must(t, api.List(t.Context(), &pods, client.InNamespace(x.Namespace), client.HasLabels{"app"}))
		if len(pods.Items) > 0 {
			return pods.Items[0].Name
		}
		return ""
	})
	var stacks infrav1.TerraformList
	must(t, api.List(t.Context(), &stacks, client.InNamespace(x.Namespace)))
	if len(stacks.Items) != len(x.kept) {
		t.Errorf("%d stacks are left, want %v", len(stacks.Items), x.kept)
	}
	if left := x.cloud.Names(""); (len(left) > 0) != (len(x.kept) > 0) {
		t.Errorf("the cloud has %v", left)
	}
	for i := range stacks.Items {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"destroyResourcesOnDeletion":true}}`))
		must(t, api.Patch(context.WithoutCancel(t.Context()), &stacks.Items[i], patch))
		must(t, api.Delete(t.Context(), &stacks.Items[i]))
		x.AwaitGone(t, stacks.Items[i].Name, &stacks.Items[i])
	}
}
