// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// offer applies a definition whose kind is named KIND in the text, and waits until it is served.
func (y *yuba) offer(t *testing.T, kind, text string) *appv1.ApplicationDefinition {
	t.Helper()
	d := &appv1.ApplicationDefinition{}
	text = strings.ReplaceAll(strings.ReplaceAll(text, "kind: KIND", "kind: "+kind), "KIND", strings.ToLower(kind))
	if err := yaml.UnmarshalStrict([]byte(text), d); err != nil {
		t.Fatal(err)
	}
	y.create(t, d)
	y.eventually(t, kind+" is served", func() string {
		if err := y.client.Get(t.Context(), client.ObjectKeyFromObject(d), d); err != nil {
			return err.Error()
		}
		c := apimeta.FindStatusCondition(d.Status.Conditions, appv1.ConditionReady)
		if c == nil || c.Status != metav1.ConditionTrue {
			text, err := json.Marshal(d.Status)
			return string(text) + errorOrNothing(err)
		}
		return ""
	})
	return d
}

func errorOrNothing(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}

// use creates an instance.
func (y *yuba) use(t *testing.T, ns, kind, name string, spec map[string]any, annotations map[string]string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetGroupVersionKind(appv1.InstanceVersion.WithKind(kind))
	o.SetNamespace(ns)
	o.SetName(name)
	o.SetAnnotations(annotations)
	y.create(t, o)
	return o
}

// reaches waits for the phase of an instance, and text in the message of its condition Ready.
func (y *yuba) reaches(t *testing.T, ns, kind, name, phase, text string) (s appv1.InstanceStatus) {
	t.Helper()
	y.eventually(t, kind+" "+name+" is "+phase, func() string {
		o, now, err := y.instanceOf(t, ns, kind, name)
		if err != nil {
			return err.Error()
		}
		s = now
		message := ""
		if c := apimeta.FindStatusCondition(s.Conditions, appv1.ConditionReady); c != nil {
			message = c.Message
		}
		if s.Phase == phase && s.ObservedGeneration == o.GetGeneration() && strings.Contains(message, text) {
			return ""
		}
		return s.Phase + ": " + message
	})
	return s
}

func (y *yuba) leaves(t *testing.T, ns, kind, name string) {
	t.Helper()
	y.eventually(t, kind+" "+name+" goes", func() string {
		_, s, err := y.instanceOf(t, ns, kind, name)
		if apierrors.IsNotFound(err) {
			return ""
		}
		text, _ := json.Marshal(s) //nolint:errchkjson // for a message
		return string(text)
	})
}

func (y *yuba) stackOf(t *testing.T, ns, name string) *infrav1.Terraform {
	t.Helper()
	obj := &infrav1.Terraform{}
	y.eventually(t, "stack "+name, func() string {
		return errorOrNothing(y.client.Get(context.Background(), client.ObjectKey{Namespace: ns, Name: name}, obj))
	})
	return obj
}

const databaseDefinition = `
metadata: {name: KIND}
spec:
  application:
    kind: KIND
    plural: KINDs
    singular: KIND
    openAPISchema: '{"type":"object","required":["dbName"],"properties":{"dbName":{"type":"string"},"sizes":{"type":"object","default":{},"properties":{"diskSize":{"type":"integer","default":7},"memorySize":{"type":"integer","default":2}}}}}'
  backend:
    type: Terraform
    terraform:
      prefix: KIND-
      approvePlan: auto
      variables: VARIABLES
      inline:
        main.tf: |
          PROGRAM
          output "seen" { value = SEEN }
      outputs: [seen]
`

// The same fields reach a module as an object, as one variable for each leaf, or whole, under names in
// snake case or others; and every text is data, whatever tofu would make of it in a program.
func TestFieldsReachTheModule(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	const hostile = "${file(\"/etc/passwd\")} %{ if true }x%{ endif } {{ .name }} ${{ .values }} \"\n\\ ü \u2028"
	for kind, c := range map[string]struct{ variables, program, seen string }{
		"Asobject": {`{overrides: {sizes.diskSize: disk}}`, `variable "db_name" {}` + "\n          " + `variable "sizes" { type = object({ disk = number, memory_size = number }) }`,
			`[var.db_name, var.sizes.disk, var.sizes.memory_size]`},
		"Asleaves": {`{nesting: flatten}`, `variable "db_name" {}` + "\n          " + `variable "sizes_disk_size" { type = number }` + "\n          " + `variable "sizes_memory_size" { type = number }`,
			`[var.db_name, var.sizes_disk_size, var.sizes_memory_size]`},
		"Asvalues": {`{nesting: values}`, `variable "values" { type = any }`, `[var.values.dbName, var.values.sizes.diskSize, var.values.sizes.memorySize]`},
	} {
		y.offer(t, kind, strings.NewReplacer("VARIABLES", c.variables, "PROGRAM", c.program, "SEEN", c.seen).Replace(databaseDefinition))
		y.use(t, ns, kind, "one", map[string]any{"dbName": hostile, "sizes": map[string]any{"diskSize": int64(9)}}, nil)
		s := y.reaches(t, ns, kind, "one", appv1.PhaseReady, "")
		var seen []any
		if err := json.Unmarshal(s.Outputs["seen"].Raw, &seen); err != nil || len(seen) != 3 || seen[0] != hostile || seen[1] != 9.0 || seen[2] != 2.0 {
			t.Errorf("%s: the module has seen %s (%v)", kind, s.Outputs["seen"].Raw, err)
		}
	}
}

const planDefinition = `
metadata: {name: KIND}
spec:
  application: {kind: KIND, plural: KINDs, singular: KIND, openAPISchema: '{"type":"object"}'}
  backend:
    type: Terraform
    terraform:
      prefix: KIND-
      approvePlan: auto
      inline: {main.tf: 'resource "terraform_data" "it" {}'}
`

// A definition says how plans are approved; an instance may always choose to be asked, and nothing that
// the definition does not list.
func TestWhoApprovesThePlansOfInstances(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	y.offer(t, "Eager", planDefinition)
	y.offer(t, "Careful", strings.Replace(planDefinition, "approvePlan: auto", "approvePlan: manual", 1))
	choose := func(what string) map[string]string { return map[string]string{appv1.AnnotationApprovePlan: what} }
	y.use(t, ns, "Eager", "one", map[string]any{}, nil)
	y.use(t, ns, "Eager", "asked", map[string]any{}, choose("manual"))
	y.use(t, ns, "Careful", "one", map[string]any{}, nil)
	y.use(t, ns, "Careful", "bold", map[string]any{}, choose("auto"))
	y.reaches(t, ns, "Eager", "one", appv1.PhaseReady, "")
	y.reaches(t, ns, "Eager", "asked", appv1.PhaseAwaitingApproval, "1 to add")
	y.reaches(t, ns, "Careful", "one", appv1.PhaseAwaitingApproval, "yuba app approve careful one")
	y.reaches(t, ns, "Careful", "bold", appv1.PhaseFailed, "not one of the values that the definition allows")
}

const stubbornDefinition = `
metadata: {name: KIND}
spec:
  application: {kind: KIND, plural: KINDs, singular: KIND, openAPISchema: '{"type":"object"}'}
  backend:
    type: Terraform
    terraform:
      prefix: KIND-
      approvePlan: auto
      inline:
        main.tf: |
          resource "terraform_data" "it" {
            provisioner "local-exec" {
              when    = destroy
              command = "echo the bucket is not empty; exit 1"
            }
          }
`

// A deletion destroys, waits as long as that fails, and says why and how to force it. What is forced
// stays where it is.
func TestADeletionThatIsBlockedCanBeForced(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	y.offer(t, "Stubborn", stubbornDefinition)
	o := y.use(t, ns, "Stubborn", "forced", map[string]any{}, nil)
	y.reaches(t, ns, "Stubborn", "forced", appv1.PhaseReady, "")
	y.delete(t, o)
	y.reaches(t, ns, "Stubborn", "forced", appv1.PhaseDeleting, "not empty")
	if n := y.resources(t, y.stackOf(t, ns, "stubborn-forced")); n != 1 {
		t.Errorf("%d resources are in the state, want 1", n)
	}
	s := y.reaches(t, ns, "Stubborn", "forced", appv1.PhaseDeleting, "which nobody manages then")
	message := apimeta.FindStatusCondition(s.Conditions, appv1.ConditionReady).Message
	command := strings.Fields(message[strings.Index(message, "yuba kubectl annotate"):])
	y.do(t, command[1:]...)
	y.leaves(t, ns, "Stubborn", "forced")
}

// A deletion during an apply waits for the apply, and destroys all that it made.
func TestADeletionDuringAnApply(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	program, err := json.Marshal(gated)
	if err != nil {
		t.Fatal(err)
	}
	y.offer(t, "Slow", strings.Replace(planDefinition, `'resource "terraform_data" "it" {}'`, string(program), 1))
	o := y.use(t, ns, "Slow", "one", map[string]any{}, nil)
	stack := y.stackOf(t, ns, "slow-one")
	reached, open := y.gate(stack)
	awaitFile(t, reached)
	y.delete(t, o)
	y.reaches(t, ns, "Slow", "one", appv1.PhaseDeleting, "")
	if now := y.stackOf(t, ns, "slow-one"); now.DeletionTimestamp == nil || now.UID != stack.UID {
		t.Errorf("the stack is %+v", now.ObjectMeta)
	}
	touch(t, open)
	y.leaves(t, ns, "Slow", "one")
	if err := y.client.Get(t.Context(), client.ObjectKeyFromObject(stack), &infrav1.Terraform{}); !apierrors.IsNotFound(err) {
		t.Errorf("the stack is there: %v", err)
	}
	if n := y.resources(t, stack); n != 0 {
		t.Errorf("%d resources are left", n)
	}
}

// A stack that existed before an instance of its name is nobody's plan to read or approve through it.
func TestAnInstanceGivesNoRightToAForeignStack(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	y.offer(t, "Bag", planDefinition)
	foreign := inline(ns, "bag-secret", `resource "terraform_data" "secret" {}`)
	y.create(t, foreign)
	pending := y.await(t, foreign, "its plan waits", waiting)
	y.use(t, ns, "Bag", "secret", map[string]any{}, nil)
	y.reaches(t, ns, "Bag", "secret", appv1.PhaseFailed, "")
	for _, args := range [][]string{{"app", "plan", "bag", "secret", "-n", ns}, {"app", "approve", "bag", "secret", pending.Status.Plan.Pending, "-n", ns}} {
		if out, news, code := y.run(t, args...); code == 0 {
			t.Errorf("yuba %s: %s%s", strings.Join(args, " "), out, news)
		}
	}
	forged := []byte(`{"status":{"plan":{"id":"` + pending.Status.Plan.Pending + `","summary":"1 to add","add":1,"change":0,"destroy":0}}}`)
	o, _, err := y.instanceOf(t, ns, "Bag", "secret")
	if err != nil {
		t.Fatal(err)
	}
	if err := y.client.Status().Patch(t.Context(), o, client.RawPatch(types.MergePatchType, forged)); err != nil {
		t.Fatal(err)
	}
	if _, _, code := y.run(t, "app", "approve", "bag", "secret", "-n", ns); code == 0 {
		t.Error("a forged status approves a foreign plan")
	}
}

const sourceDefinition = `
metadata: {name: KIND}
spec:
  application: {kind: KIND, plural: KINDs, singular: KIND, openAPISchema: '{"type":"object","required":["size"],"properties":{"size":{"type":"integer"}}}'}
  backend:
    type: Terraform
    terraform:
      prefix: KIND-
      approvePlan: auto
      sourceRef: {kind: ExternalArtifact, name: program}
      outputs: [size]
`

// A module that loses the variable of a field breaks its instances with a message, not silently. What
// they made stays, and can be destroyed.
func TestAVariableThatTheModuleLost(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	const rest = `
resource "terraform_data" "it" {}
output "size" { value = `
	y.push(t, ns, "program", map[string]string{"main.tf": `variable "size" {}` + rest + "var.size }\n"})
	y.offer(t, "Lossy", sourceDefinition)
	o := y.use(t, ns, "Lossy", "one", map[string]any{"size": int64(3)}, nil)
	if s := y.reaches(t, ns, "Lossy", "one", appv1.PhaseReady, ""); string(s.Outputs["size"].Raw) != "3" {
		t.Errorf("the outputs are %s", s.Outputs)
	}
	y.push(t, ns, "program", map[string]string{"main.tf": rest + "0 }\n"})
	y.reaches(t, ns, "Lossy", "one", appv1.PhaseFailed, `does not declare the variable "size", which Lossy one sets`)
	stack := y.stackOf(t, ns, "lossy-one")
	if n := y.resources(t, stack); n != 1 {
		t.Errorf("%d resources are in the state, want 1", n)
	}
	y.delete(t, o)
	y.leaves(t, ns, "Lossy", "one")
	if n := y.resources(t, stack); n != 0 {
		t.Errorf("%d resources are left", n)
	}
}
