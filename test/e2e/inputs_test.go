// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

const network = `
variable "cidr" { type = string }
resource "terraform_data" "vpc" { input = var.cidr }
output "id" { value = "vpc-${terraform_data.vpc.output}" }
output "subnets" { value = ["a", "b"] }
output "note" { value = "say \"hi\"\nand bye" }
`

const application = `
{{ range .Values.zones }}resource "terraform_data" "{{ . }}" { input = var.values.network }
{{ end }}
variable "values" { type = any }
output "network" { value = terraform_data.{{ index .Values.zones 0 }}.output }
output "first" { value = var.values.first }
output "note" { value = var.values.note }
`

// The outputs of one stack are values and template input of another, which waits for the first and
// follows it.
func TestOutputsOfAStackAreValuesOfAnother(t *testing.T) {
	y, ns := common(t)
	app := inline(ns, "app", "", auto, outputsTo("app"), func(o *infrav1.Terraform) {
		o.Spec.Inline = map[string]string{"main.tf.tpl": application}
		o.Spec.ReadInputsFromSecrets = []infrav1.ReadInputsFromSecretSpec{{Name: "net", As: "net"}}
		o.Spec.Values = &apiextensionsv1.JSON{Raw: []byte(`{"network": "${{ .net.id }}", "first": "${{ index .net.subnets 0 }}", "note": "${{ .net.note }}", "zones": ["x", "y"]}`)}
	})
	y.create(t, app)
	y.await(t, app, "its Secret is missing", failedWith(infrav1.ReasonVarsGenerationFailed))
	net := inline(ns, "net", network, auto, outputsTo("net"), variable("cidr", "10.0.0.0"))
	y.create(t, net)
	y.await(t, app, "it is applied", ready)
	for name, want := range map[string]string{"network": "vpc-10.0.0.0", "first": "a", "note": "say \"hi\"\nand bye"} {
		if got := string(y.secret(t, ns, "app")[name]); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	applied := y.await(t, app, "it rests", ready).Status.LastAppliedRun
	change(t, y, net, func(o *infrav1.Terraform) { o.Spec.Vars[0].Value.Raw = []byte(`"10.1.0.0"`) })
	y.await(t, app, "the change is applied", func(o *infrav1.Terraform) bool { return ready(o) && o.Status.LastAppliedRun != applied })
	if got := string(y.secret(t, ns, "app")["network"]); got != "vpc-10.1.0.0" {
		t.Errorf("the network is %q", got)
	}
}

// The settings of a backend come from a ConfigMap and a Secret, and the password is only in the
// Secret.
func TestBackendIsCompletedFromASecret(t *testing.T) {
	y, ns := common(t)
	c, access := cloudy(t, y, ns)
	address := c.StateAddress("settings")
	y.create(t, configMap(ns, "backend", map[string]string{"address": address, "lock_address": address, "unlock_address": address, "username": "yuba"}),
		secretOf(ns, "backend", map[string]string{"password": c.Token()}))
	obj := inline(ns, "settings", chain, access, auto, outputsTo("out"), func(o *infrav1.Terraform) {
		o.Spec.BackendConfig = &infrav1.BackendConfigSpec{CustomConfiguration: `backend "http" {}`}
		o.Spec.BackendConfigsFrom = []infrav1.BackendConfigsReference{{Kind: "ConfigMap", Name: "backend"}, {Kind: "Secret", Name: "backend", Keys: []string{"password"}}}
	})
	y.create(t, obj)
	seen := y.await(t, obj, "it is applied", ready)
	if !strings.Contains(string(c.State("settings")), `"last"`) || c.StateLocked("settings") {
		t.Errorf("the backend has %s", c.State("settings"))
	}
	secrets := newSearcher(map[string]string{"the password": c.Token()})
	secrets.everythingReadable(t, y, seen)
}

// With backendConfig.configPath, the state is in the cluster of a kubeconfig from a Secret: in the
// Secret, with the labels and the lock of the tool's own backend.
func TestStateInTheClusterOfAKubeconfig(t *testing.T) {
	y, ns := common(t)
	kubeconfig, err := os.ReadFile(y.kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	y.create(t, secretOf(ns, "cluster", map[string]string{"config": string(kubeconfig)}))
	obj := inline(ns, "elsewhere", greeting, variable("name", "far"), auto, outputsTo("out"), func(o *infrav1.Terraform) {
		o.Spec.BackendConfig = &infrav1.BackendConfigSpec{ConfigPath: "/home/runner/.kube/config", SecretSuffix: "far", Labels: map[string]string{"team": "a"}}
		o.Spec.FileMappings = []infrav1.FileMapping{{SecretRef: meta.SecretKeyReference{Name: "cluster", Key: "config"}, Location: infrav1.FileLocationHome, Path: ".kube/config"}}
	})
	y.create(t, obj)
	y.await(t, obj, "it is applied", ready)
	var kept corev1.SecretList
	if err := y.client.List(t.Context(), &kept); err != nil {
		t.Fatal(err)
	}
	for _, s := range kept.Items {
		if s.Namespace != ns || s.Name != "tfstate-default-far" {
			continue
		}
		// Yuba's own states have annotations of their versions.
		if s.Labels["team"] != "a" || s.Labels["app.kubernetes.io/managed-by"] != "terraform" || len(s.Data["tfstate"]) == 0 {
			t.Errorf("%v", s.ObjectMeta)
		}
		return
	}
	t.Errorf("there is no state among %d Secrets", len(kept.Items))
}

// Values come from files of the source, from a file in a Secret, and from the object. The files
// take precedence, in their order, in the plan and in the apply.
func TestFilesOfValuesFromSourceAndSecret(t *testing.T) {
	y, ns := common(t)
	y.push(t, ns, "live", map[string]string{
		"stacks/app/main.tf": "variable \"a\" {}\nvariable \"b\" {}\nvariable \"c\" {}\nvariable \"d\" {}\n" +
			"output \"o\" { value = \"${var.a}-${var.b}-${var.c}-${var.d}\" }\n",
		"stacks/app/terraform.tfvars": "b = \"module\"\n",
		"env/prod.tfvars":             "b = \"file\"\nc = \"file\"\n",
	})
	y.create(t, secretOf(ns, "vars", map[string]string{"last": "c = \"secret\"\n"}))
	obj := pushed(ns, "app", "live", variable("a", "object"), variable("c", "object"), outputsTo("out"), func(o *infrav1.Terraform) {
		o.Spec.Path = "./stacks/app"
		o.Spec.Vars = append(o.Spec.Vars, infrav1.Variable{Name: "d", Value: &apiextensionsv1.JSON{Raw: []byte(`"object"`)}})
		o.Spec.TfVarsFiles = []string{"./env/prod.tfvars", "./stacks/app/secret.tfvars"}
		o.Spec.FileMappings = []infrav1.FileMapping{{SecretRef: meta.SecretKeyReference{Name: "vars", Key: "last"}, Location: "workspace", Path: "secret.tfvars"}}
	})
	y.create(t, obj)
	y.await(t, obj, "its plan waits", waiting)
	approve(t, y, obj)
	y.await(t, obj, "it is applied", ready)
	if got := string(y.secret(t, ns, "out")["o"]); got != "object-file-secret-object" {
		t.Errorf("the output is %q", got)
	}
}

// The environment in runnerPodTemplate is used, with lower precedence than the stack's own.
func TestEnvironmentOfTheRunnerPodTemplate(t *testing.T) {
	y, ns := common(t)
	y.create(t, secretOf(ns, "pod", map[string]string{"TF_VAR_a": "pod", "TF_VAR_b": "pod"}))
	obj := inline(ns, "pod", `
variable "a" {}
variable "b" {}
output "o" { value = "${var.a}-${var.b}" }`, auto, outputsTo("out"), func(o *infrav1.Terraform) {
		o.Spec.RunnerPodTemplate = &infrav1.RunnerPodTemplate{Spec: infrav1.RunnerPodSpec{
			EnvFrom: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "pod"}}}},
			Image:   "example.org/runner"}}
		o.Spec.Env = []corev1.EnvVar{{Name: "TF_VAR_b", Value: "stack"}}
	})
	y.create(t, obj)
	seen := y.await(t, obj, "it is applied", ready)
	if got := string(y.secret(t, ns, "out")["o"]); got != "pod-stack" {
		t.Errorf("the environment gave %q", got)
	}
	if len(seen.Status.Warnings) != 1 || !strings.Contains(seen.Status.Warnings[0], "spec.runnerPodTemplate.spec.image") {
		t.Errorf("warnings: %q", seen.Status.Warnings)
	}
}
