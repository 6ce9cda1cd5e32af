// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/tofu/inputs"
)

// openNetwork has outputs for other stacks, and a token.
const openNetwork = `
output "vpc_id" { value = "vpc-0a1b2c3d4e5f" }
output "subnets" { value = { web = "subnet-aaaa1111" } }
output "token" {
  value     = "t0ken-of-network"
  sensitive = true
}
`

// consumerOfNetwork is a stack whose plan waits.
const consumerOfNetwork = `
variable "vpc_id" {}
variable "subnets" { type = map(string) }
variable "token" {}
resource "terraform_data" "it" {
  input = { vpc = var.vpc_id, web = var.subnets.web, url = "https://${var.token}@${var.vpc_id}/" }
}
`

// shownPlan is the text of a stack's pending plan.
func (y *yuba) shownPlan(t *testing.T, obj *infrav1.Terraform) string {
	t.Helper()
	y.await(t, obj, "its plan waits", func(o *infrav1.Terraform) bool { return settled(o) && o.Status.Plan.Pending != "" })
	document, err := y.content(t).Plan(t.Context(), obj.Namespace, obj.Name, "")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(document), "t0ken-of-network") {
		t.Errorf("the token is shown:\n%s", document)
	}
	return string(document)
}

func expectShown(t *testing.T, document string, shown bool) {
	t.Helper()
	for _, text := range []string{"vpc-0a1b2c3d4e5f", "subnet-aaaa1111"} {
		if strings.Contains(document, text) != shown {
			t.Errorf("%s: want it shown: %v\n%s", text, shown, document)
		}
	}
}

// Approvers see the values that come from other stacks, unless they are sensitive.
func TestOutputsThatAreNotSensitiveAreShownInPlans(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	first := inline(ns, "network", openNetwork, auto, outputsTo("out"))
	y.create(t, first, secretOf(ns, "same", map[string]string{"password": "vpc-0a1b2c3d4e5f"}))
	y.await(t, first, "it is ready", ready)

	byVariables := inline(ns, "by-variables", consumerOfNetwork, varsFrom("Secret", "out"))
	byTemplate := inline(ns, "by-template", "variable \"values\" {}\nresource \"terraform_data\" \"it\" {\n  input = var.values\n}\n", func(o *infrav1.Terraform) {
		o.Spec.ReadInputsFromSecrets = []infrav1.ReadInputsFromSecretSpec{{Name: "out", As: "net"}}
		o.Spec.Values = &apiextensionsv1.JSON{Raw: []byte(`{"vpc": "${{ .net.vpc_id }}", "subnets": "${{ .net.subnets }}", "url": "https://${{ .net.token }}@host/"}`)}
	})
	y.create(t, byVariables, byTemplate)
	expectShown(t, y.shownPlan(t, byVariables), true)
	expectShown(t, y.shownPlan(t, byTemplate), true)

	// Values that are secret elsewhere in the run stay masked.
	elsewhere := inline(ns, "elsewhere", consumerOfNetwork, varsFrom("Secret", "out"), func(o *infrav1.Terraform) {
		o.Spec.EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "same"}}}}
	})
	y.create(t, elsewhere)
	if document := y.shownPlan(t, elsewhere); strings.Contains(document, "vpc-0a1b") || !strings.Contains(document, "subnet-aaaa1111") {
		t.Errorf("a value that another Secret has:\n%s", document)
	}
}

// A Secret can claim to be open, but its values are shown only if the stack that it belongs to has
// written it.
func TestOnlyOutputsThatYubaWroteAreShownInPlans(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	first := inline(ns, "network", openNetwork, auto, outputsTo("out"))
	y.create(t, first)
	first = y.await(t, first, "it is ready", ready)
	_, secret := annotated(t, y, ns, "out")

	// A copy that is identical in everything that a Secret can contain.
	y.create(t, &corev1.Secret{Data: secret.Data, ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "copy", Annotations: secret.Annotations, Labels: secret.Labels,
		OwnerReferences: secret.OwnerReferences}})
	second := inline(ns, "of-the-copy", consumerOfNetwork, varsFrom("Secret", "copy"))
	y.create(t, second)
	expectShown(t, y.shownPlan(t, second), false)

	// The Secret itself with a different annotation. It is immutable, so Yuba cannot restore it.
	forged := secret.DeepCopy()
	forged.Data["token"] = []byte("an0ther-token")
	note := inputs.OpenOutputs{Open: []string{"subnets", "token", "vpc_id"}}
	forged.Annotations[infrav1.OpenOutputsAnnotation] = note.Annotation(forged.Data)
	forged.Immutable = ptr.To(true)
	if err := y.client.Update(t.Context(), forged); err != nil {
		t.Fatal(err)
	}
	y.await(t, first, "it sees that", failedWith(infrav1.ReasonOutputsWritingFailed))
	third := inline(ns, "of-the-forged", consumerOfNetwork, varsFrom("Secret", "out"))
	y.create(t, third)
	document := y.shownPlan(t, third)
	expectShown(t, document, false)
	if strings.Contains(document, "an0ther") {
		t.Errorf("the other token is shown:\n%s", document)
	}

	var said inputs.OpenOutputs
	if err := json.Unmarshal([]byte(secret.Annotations[infrav1.OpenOutputsAnnotation]), &said); err != nil || len(said.Open) != 2 {
		t.Errorf("noted as open: %v, %v", said.Open, err)
	}
}
