// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/testkit/gittest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

const greeting = `
variable "name" { type = string }
resource "terraform_data" "greeting" { input = "hello ${var.name}" }
output "greeting" { value = terraform_data.greeting.output }
`

// legacy is a namespace with stacks that tofu-controller applied.
type legacy struct {
	*team
	stacks []*infrav1.Terraform
	before map[string]map[string][]byte
}

const (
	legacyPlan    = "plan-main-4f0a9e4a5b"
	legacyApplied = "plan-main-0000000000"
)

// newLegacy creates the objects that tofu-controller leaves, in the definition of tofu-controller:
// states by tofu's kubernetes backend, outputs, finalizers, status, and a plan that waits.
func newLegacy(t *testing.T) *legacy {
	t.Helper()
	l := &legacy{team: newTeam(t, false)}
	central := gittest.New(t, gittest.Listen(nodeAddress(t))).Repository(t, "infra")
	commit := central.Commit(t, "first", gittest.Files{"app/main.tf": greeting})
	l.create(&sourcev1.GitRepository{ObjectMeta: metav1.ObjectMeta{Name: "infra"},
		Spec: sourcev1.GitRepositorySpec{URL: central.URL(), Interval: every, Reference: &sourcev1.GitRepositoryRef{Branch: "main"}}})
	revision := "main@sha1:" + commit
	l.apply("simple", "default")
	l.apply("shared", "prod")
	l.apply("pending", "default")
	l.add("simple", revision, func(o *infrav1.Terraform) {
		o.Spec.ApprovePlan, o.Spec.WriteOutputsToSecret = infrav1.ApprovePlanAuto, &infrav1.WriteOutputsToSecretSpec{Name: "simple-out"}
	})
	l.add("prod", revision, func(o *infrav1.Terraform) {
		o.Spec.ApprovePlan, o.Spec.Workspace = infrav1.ApprovePlanAuto, "prod"
		o.Spec.BackendConfig = &infrav1.BackendConfigSpec{SecretSuffix: "shared", InClusterConfig: true}
	})
	l.add("pending", revision, func(o *infrav1.Terraform) {
		o.Spec.Vars[0].Value.Raw, o.Status.Plan.Pending = []byte(`"Yuba"`), legacyPlan
	})
	for _, secret := range []*corev1.Secret{
		{ObjectMeta: metav1.ObjectMeta{Name: "simple-out"}, Data: map[string][]byte{"greeting": []byte("hello world")}},
		{ObjectMeta: metav1.ObjectMeta{Name: "tfplan-default-pending"}, Data: map[string][]byte{"tfplan": []byte("binary")}},
	} {
		owner := l.stacks[0]
		secret.OwnerReferences = []metav1.OwnerReference{{APIVersion: infrav1.GroupVersion.String(), Kind: "Terraform", Name: owner.Name, UID: owner.UID, Controller: ptr.To(true)}}
		l.create(secret)
	}
	l.before = l.secrets()
	return l
}

// apply creates a state as tofu-controller's runner does.
func (l *legacy) apply(suffix, workspace string) {
	l.t.Helper()
	dir := l.t.TempDir()
	backend := fmt.Sprintf("terraform {\n  backend \"kubernetes\" {\n    secret_suffix = %q\n    namespace = %q\n    config_path = %q\n  }\n}\n", suffix, l.name, *kubeconfig)
	for name, content := range map[string]string{"main.tf": greeting, "backend_override.tf": backend} {
		must(l.t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	tofu := func(args ...string) {
		l.t.Helper()
		cmd := exec.CommandContext(l.t.Context(), tofutest.Tofu(l.t), args...)
		var out bytes.Buffer
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TF_IN_AUTOMATION=1", "TF_VAR_name=world"}
		if err := cmd.Run(); err != nil {
			l.t.Fatalf("tofu %v: %v\n%s", args, err, out.String())
		}
	}
	tofu("init", "-input=false")
	if workspace != "default" {
		tofu("workspace", "new", workspace)
	}
	tofu("apply", "-auto-approve", "-input=false")
}

// add creates an applied stack, with its finalizer and its status.
func (l *legacy) add(name, revision string, change func(*infrav1.Terraform)) {
	l.t.Helper()
	now := metav1.Now()
	obj := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: []string{infrav1.Finalizer}}, Spec: infrav1.TerraformSpec{
		Interval: metav1.Duration{Duration: time.Hour}, Path: "./app", Vars: []infrav1.Variable{{Name: "name"}},
		SourceRef: &infrav1.CrossNamespaceSourceReference{Kind: infrav1.SourceKindGitRepository, Name: "infra"}}}
	status := infrav1.TerraformStatus{ObservedGeneration: 1, LastAppliedRevision: revision, LastAttemptedRevision: revision, LastPlannedRevision: revision,
		LastPlanAt: &now, AvailableOutputs: []string{"greeting"}, Plan: infrav1.PlanStatus{LastApplied: legacyApplied},
		Conditions: []metav1.Condition{{Type: infrav1.ConditionReady, Status: metav1.ConditionTrue, Reason: "TerraformOutputsWritten",
			Message: "Outputs written: " + revision, LastTransitionTime: now, ObservedGeneration: 1}}}
	obj.Status = status
	obj.Spec.Vars[0].Value = jsonValue("world")
	change(obj)
	status = obj.Status
	l.create(obj)
	obj.Status = status
	must(l.t, api.Status().Update(l.t.Context(), obj))
	l.stacks = append(l.stacks, obj)
}

// secrets are the contents of all Secrets of the namespace.
func (l *legacy) secrets() map[string]map[string][]byte {
	l.t.Helper()
	var list corev1.SecretList
	must(l.t, api.List(l.t.Context(), &list, client.InNamespace(l.name)))
	all := map[string]map[string][]byte{}
	for _, s := range list.Items {
		all[s.Name] = s.Data
	}
	return all
}

// untouched checks that nobody has changed an object.
func (l *legacy) untouched(when string) {
	l.t.Helper()
	for _, before := range l.stacks {
		now := l.stack(before.Name)
		if diff := cmp.Diff(before.Spec, now.Spec); diff != "" || now.UID != before.UID || now.Generation != before.Generation || now.Status.LastAppliedRevision == "" {
			l.t.Errorf("%s, %s is %s of generation %d (-before +now):\n%s", when, now.Name, now.UID, now.Generation, diff)
		}
	}
	if diff := cmp.Diff(l.before, l.secrets()); diff != "" {
		l.t.Errorf("%s, the Secrets (-before +now):\n%s", when, diff)
	}
}

// goesOn checks that Yuba continues each stack: the first pass creates nothing again.
func (l *legacy) goesOn() {
	l.t.Helper()
	for _, name := range []string{"simple", "prod"} {
		seen := l.await(name, "it continues", func(o *infrav1.Terraform) string {
			if o.Status.LastRun == nil {
				return "it has no run"
			}
			return applied(o)
		})
		if seen.Status.Plan.Summary != "+0 ~0 -0" || seen.Status.Plan.LastApplied != legacyApplied {
			l.t.Errorf("%s: its first plan is %q, and %q is applied", name, seen.Status.Plan.Summary, seen.Status.Plan.LastApplied)
		}
	}
	seen := l.await("pending", "it is planned again and waits", func(o *infrav1.Terraform) string {
		if o.Status.Plan.Digest == "" || o.Status.Plan.Pending == "" {
			return fmt.Sprintf("its plan is %+v", o.Status.Plan)
		}
		return ""
	})
	if p := seen.Status.Plan; p.Approved || p.Pending == legacyPlan || p.Summary != "+0 ~1 -0" {
		l.t.Errorf("the new plan of pending is %+v", p)
	}
	l.untouched("after the first pass")
}

// uninstall removes the release and the definition of stacks, and brings both back after the test.
// It returns the values of the release.
func uninstall(t *testing.T) (values string) {
	t.Helper()
	var list infrav1.TerraformList
	must(t, api.List(t.Context(), &list))
	for i := range list.Items {
		must(t, client.IgnoreNotFound(api.Delete(t.Context(), &list.Items[i])))
	}
	eventually(t, "no stack is left", func() string {
		must(t, api.List(t.Context(), &list))
		if len(list.Items) > 0 {
			return fmt.Sprintf("%d are left, %s/%s among them", len(list.Items), list.Items[0].Namespace, list.Items[0].Name)
		}
		return ""
	})
	values = do(t, "", "helm", "get", "values", "yuba", "--namespace", system, "--output", "yaml")
	do(t, "", "helm", "uninstall", "yuba", "--namespace", system, "--wait")
	t.Cleanup(func() { installYuba(t, values) })
	do(t, "", "yuba", "kubectl", "delete", "crd", stacksDefinition)
	return values
}

const stacksDefinition = "terraforms.infra.contrib.fluxcd.io"

func installYuba(t *testing.T, values string) {
	t.Helper()
	do(t, values, "helm", "upgrade", "--install", "yuba", "charts/yuba", "--namespace", system, "--create-namespace", "--values", "-", "--wait", "--timeout", "3m")
}

// definition reads the definition of stacks.
func definition(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	var d apiextensionsv1.CustomResourceDefinition
	must(t, api.Get(t.Context(), client.ObjectKey{Name: stacksDefinition}, &d))
	return &d
}

// changeDefinition changes the fields of a stack's spec in the definition.
func changeDefinition(t *testing.T, change func(map[string]apiextensionsv1.JSONSchemaProps)) {
	t.Helper()
	d := definition(t)
	for _, v := range d.Spec.Versions {
		change(v.Schema.OpenAPIV3Schema.Properties["spec"].Properties)
	}
	must(t, api.Update(t.Context(), d))
}

// lacks returns the texts that are not in text.
func lacks(text string, wants ...string) (missing []string) {
	for _, want := range wants {
		if !strings.Contains(text, want) {
			missing = append(missing, want)
		}
	}
	return missing
}
