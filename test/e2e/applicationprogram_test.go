// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

const elsewhereDefinition = `
metadata: {name: KIND}
spec:
  application: {kind: KIND, plural: KINDs, singular: KIND, openAPISchema: '{"type":"object","properties":{"bucketName":{"type":"string","default":"a"},"size":{"type":"integer","default":3}}}'}
  backend:
    type: Terraform
    terraform:
      prefix: KIND-
      approvePlan: auto
      PROGRAM
      outputs: [endpoint]
`

const elsewhereProgram = `variable "bucket_name" { type = string }
variable "size" { type = number }
resource "terraform_data" "it" { input = "${var.bucket_name}-${var.size}" }
output "endpoint" { value = terraform_data.it.output }
`

// definitionSays waits for the reason of a definition, and for texts in its message.
func (y *yuba) definitionSays(t *testing.T, d *appv1.ApplicationDefinition, reason string, texts ...string) {
	t.Helper()
	y.eventually(t, "definition "+d.Name+" is "+reason, func() string {
		if err := y.client.Get(t.Context(), client.ObjectKeyFromObject(d), d); err != nil {
			return err.Error()
		}
		c := apimeta.FindStatusCondition(d.Status.Conditions, appv1.ConditionReady)
		if c == nil || c.ObservedGeneration != d.Generation {
			return "it has no condition"
		}
		for _, text := range texts {
			if c.Reason != reason || !strings.Contains(c.Message, text) {
				return c.Reason + ": " + c.Message
			}
		}
		if c.Reason != reason {
			return c.Reason + ": " + c.Message
		}
		return ""
	})
}

// declare creates a definition, whatever becomes of it.
func (y *yuba) declare(t *testing.T, kind, text string) *appv1.ApplicationDefinition {
	t.Helper()
	d := &appv1.ApplicationDefinition{}
	text = strings.ReplaceAll(strings.ReplaceAll(text, "kind: KIND", "kind: "+kind), "KIND", strings.ToLower(kind))
	if err := yaml.UnmarshalStrict([]byte(text), d); err != nil {
		t.Fatal(err)
	}
	y.create(t, d)
	return d
}

func (y *yuba) change(t *testing.T, d *appv1.ApplicationDefinition, change func(*appv1.ApplicationDefinition)) {
	t.Helper()
	y.eventually(t, "definition "+d.Name+" is changed", func() string {
		if err := y.client.Get(t.Context(), client.ObjectKeyFromObject(d), d); err != nil {
			return err.Error()
		}
		change(d)
		return errorOrNothing(y.client.Update(t.Context(), d))
	})
}

func varsOf(stack *infrav1.Terraform) string {
	var all []string
	for _, v := range stack.Spec.Vars {
		all = append(all, v.Name+"="+string(v.Value.Raw))
	}
	return strings.Join(all, " ")
}

// A definition whose program is in a source is compared with it whenever one of them changes. Without a
// program, or with one that does not fit, it is not used, and its instances stay as they are.
func TestADefinitionIsComparedWithItsSource(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	push := func(text string) {
		t.Helper()
		dir := t.TempDir()
		for name, content := range map[string]string{"modules/store/main.tf": text, "README.md": text} {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		y.do(t, "push", dir, "store", "-n", ns)
	}
	d := y.declare(t, "Store", strings.Replace(elsewhereDefinition, "PROGRAM", "sourceRef: {kind: ExternalArtifact, name: store, namespace: "+ns+"}\n      path: ./modules/store", 1))
	y.definitionSays(t, d, appv1.ReasonProgramUnknown, "cannot be checked yet", `"store" not found`)
	if apimeta.FindStatusCondition(d.Status.Conditions, appv1.ConditionStalled) != nil {
		t.Error("a definition that waits for its program is stalled")
	}
	push(strings.Replace(elsewhereProgram, `"size"`, `"sise"`, 1))
	y.definitionSays(t, d, appv1.ReasonProgramDiffers, "modules/store of ExternalArtifact "+ns+"/store at ",
		`spec.backend.terraform.variables.spec.size: the module does not declare the variable "size"; it declares sise (main.tf:2)`, `requires the variable "sise"`)
	push(elsewhereProgram)
	y.definitionSays(t, d, appv1.ReasonServed)
	if c := apimeta.FindStatusCondition(d.Status.Conditions, appv1.ConditionProgramFits); c == nil || c.Reason != appv1.ReasonProgramFits {
		t.Errorf("the condition is %+v", c)
	}
	y.use(t, ns, "Store", "one", map[string]any{}, nil)
	y.reaches(t, ns, "Store", "one", appv1.PhaseReady, "")

	// A change that needs another program waits for it.
	y.change(t, d, func(d *appv1.ApplicationDefinition) {
		d.Spec.Application.OpenAPISchema = strings.Replace(d.Spec.Application.OpenAPISchema, `"size"`, `"color":{"type":"string","default":"red"},"size"`, 1)
	})
	y.definitionSays(t, d, appv1.ReasonProgramDiffers, `does not declare the variable "color"`)
	y.reaches(t, ns, "Store", "one", appv1.PhaseReady, "The definition store is not used as it is now (ProgramDiffers)")
	if vars := varsOf(y.stackOf(t, ns, "store-one")); vars != `bucket_name="a" size=3` {
		t.Errorf("the stack has %s", vars)
	}
	push("variable \"color\" { type = string }\n" + elsewhereProgram)
	y.definitionSays(t, d, appv1.ReasonServed)
	y.eventually(t, "the stack has the new variable", func() string {
		if vars := varsOf(y.stackOf(t, ns, "store-one")); vars != `bucket_name="a" color="red" size=3` {
			return vars
		}
		return ""
	})
	y.reaches(t, ns, "Store", "one", appv1.PhaseReady, "")

	// The program loses its output, and then its files.
	push("variable \"color\" { type = string }\n" + strings.Replace(elsewhereProgram, `output "endpoint"`, `output "endpoints"`, 1))
	y.definitionSays(t, d, appv1.ReasonProgramDiffers, `the program has no output "endpoint"; it has endpoints (main.tf:5)`)
	y.change(t, d, func(d *appv1.ApplicationDefinition) { d.Spec.Backend.Terraform.Path = "modules/stores" })
	y.definitionSays(t, d, appv1.ReasonProgramDiffers, `the source has no directory "modules/stores"`)
}

// A module of the registry is compared in the version that runs would use.
func TestADefinitionIsComparedWithItsModule(t *testing.T) {
	t.Parallel()
	r := withRegistry(t)
	ns := r.namespace(t)
	d := r.declare(t, "Vault", strings.Replace(elsewhereDefinition, "PROGRAM", "module: "+r.host+"/acme/vpc/aws@~>1.0", 1))
	r.definitionSays(t, d, appv1.ReasonProgramUnknown, "yuba registry push")
	r.pushText(t, "1.0.0", elsewhereProgram)
	r.definitionSays(t, d, appv1.ReasonServed)
	r.use(t, ns, "Vault", "one", map[string]any{"size": int64(4)}, nil)
	r.reaches(t, ns, "Vault", "one", appv1.PhaseReady, "")
	r.pushText(t, "2.0.0", strings.ReplaceAll(elsewhereProgram, "size", "room"))
	r.pushText(t, "1.1.0", elsewhereProgram+"variable \"region\" { type = string }\n")
	r.definitionSays(t, d, appv1.ReasonProgramDiffers, "the module acme/vpc/aws@1.1.0", `requires the variable "region", and nothing sets it`, "(main.tf:5)")
	r.do(t, "registry", "revoke", "acme/vpc/aws@1.1.0", "--reason", "needs a region")
	r.definitionSays(t, d, appv1.ReasonServed)
	r.reaches(t, ns, "Vault", "one", appv1.PhaseReady, "")
	r.change(t, d, func(d *appv1.ApplicationDefinition) { d.Spec.Backend.Terraform.Module = "acme/vpc/aws@1.0.0" })
	r.definitionSays(t, d, appv1.ReasonServed)
	if c := apimeta.FindStatusCondition(d.Status.Conditions, appv1.ConditionProgramFits); c == nil || c.Reason != appv1.ReasonProgramNotChecked || !strings.Contains(c.Message, "not in this server's registry") {
		t.Errorf("the condition is %+v", c)
	}
}
