// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/tofu/inputs"
)

// producer has an output that is not secret, one declared as sensitive, and a URL with a password
// that is not declared as sensitive.
const producer = `
variable "password" {}
output "host" { value = "db-7f3a.example.com" }
output "kind" { value = "terraform" }
output "ports" { value = [5432123, 6543210] }
output "url" { value = "postgres://app:${urlencode(var.password)}@db-7f3a.example.com/shop" }
output "token" {
  value     = "t0ken-of-producer"
  sensitive = true
}
`

// consumer fails with a message that contains all of them.
const consumer = `
variable "host" {}
variable "kind" {}
variable "ports" {}
variable "url" {}
variable "token" {}
resource "terraform_data" "kind" {
  input = [var.host, var.kind, var.url, var.token]
  lifecycle {
    postcondition {
      condition     = self.id == "nobody"
      error_message = "Cannot connect to ${var.host} (${jsonencode(var.ports)}) of terraform_data: ${var.url} with ${var.token}."
    }
  }
}
`

func readyMessage(obj *infrav1.Terraform) string {
	return apimeta.FindStatusCondition(obj.Status.Conditions, infrav1.ConditionReady).Message
}

func annotated(t *testing.T, y *yuba, ns, name string) (inputs.OpenOutputs, *corev1.Secret) {
	t.Helper()
	secret := &corev1.Secret{}
	if err := y.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: name}, secret); err != nil {
		t.Fatal(err)
	}
	open, _ := inputs.OpenOutputsOf(secret)
	return open, secret
}

// Errors show outputs of other stacks unless they are secret.
func TestOutputsThatAreNotSensitiveAreShownInErrors(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	y.create(t, secretOf(ns, "creds", map[string]string{"password": "S3cr3t/p@ss"}))
	first := inline(ns, "producer", producer, auto, outputsTo("out"), varsFrom("Secret", "creds"))
	y.create(t, first)
	y.await(t, first, "it is ready", ready)
	open, _ := annotated(t, y, ns, "out")
	open.Digest = ""
	if diff := cmp.Diff(inputs.OpenOutputs{Open: []string{"host", "kind", "ports"}, Closed: []string{"url"}}, open); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	second := inline(ns, "consumer", consumer, auto, varsFrom("Secret", "out"))
	y.create(t, second)
	failed := y.await(t, second, "it has failed", failedWith("TFExecApplyFailed"))
	message := readyMessage(failed)
	for _, want := range []string{"db-7f3a.example.com", "5432123", "of terraform_data: (sensitive) with (sensitive)"} {
		if !strings.Contains(message, want) {
			t.Errorf("the error lacks %q:\n%s", want, message)
		}
	}
	log := string(read(t, y.content(t), second, failed.Status.LastRun.ID))
	for _, secret := range []string{"S3cr3t", "p%40ss", "t0ken-of-producer"} {
		if strings.Contains(message+log, secret) {
			t.Errorf("%s is shown:\n%s\n%s", secret, message, log)
		}
	}
	if !strings.Contains(log, "terraform_data.kind") || strings.Contains(log, "terraform_(sensitive)") {
		t.Errorf("the log cannot be read:\n%s", log)
	}

	// The annotation counts only on Secrets that Yuba wrote, not on another one that has it, too.
	_, secret := annotated(t, y, ns, "out")
	y.create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "copy", Annotations: secret.Annotations}, Data: secret.Data})
	third := inline(ns, "distrustful", consumer, auto, varsFrom("Secret", "copy"))
	y.create(t, third)
	message = readyMessage(y.await(t, third, "it has failed", failedWith("TFExecApplyFailed")))
	if strings.Contains(message, "db-7f3a") || !strings.Contains(message, "of terraform_data") {
		t.Errorf("the error is\n%s", message)
	}
}

// The record of open outputs follows the program, and changes of the record plan nothing again.
func TestWhatIsKnownOfOutputsFollowsTheProgram(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	first := inline(ns, "producer", `output "a" { value = "value-of-a" }`, auto, outputsTo("out"))
	second := inline(ns, "consumer", "variable \"a\" {}\noutput \"b\" { value = var.a }", auto, varsFrom("Secret", "out"), outputsTo("more"))
	y.create(t, first, second)
	y.await(t, first, "it is ready", ready)
	before := y.await(t, second, "it is ready", ready)
	// As an earlier version wrote it.
	_, secret := annotated(t, y, ns, "out")
	delete(secret.Annotations, infrav1.OpenOutputsAnnotation)
	since := time.Now()
	if err := y.client.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if open, _ := annotated(t, y, ns, "out"); len(open.Open) == 1 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("nothing is known about the outputs any more")
		}
	}
	y.lookedAt(t, second, since)
	after := y.await(t, second, "it is ready", ready)
	if after.Status.LastAppliedRun != before.Status.LastAppliedRun || after.Status.LastRun.ID != before.Status.LastRun.ID {
		t.Errorf("it ran again: %+v, before that %+v", after.Status.LastRun, before.Status.LastRun)
	}
	change(t, y, first, func(o *infrav1.Terraform) {
		o.Spec.Inline["main.tf"] = "output \"a\" {\n  value = \"value-of-a\"\n  sensitive = true\n}\n"
	})
	y.await(t, first, "it is a secret from now on", func(o *infrav1.Terraform) bool {
		open, _ := annotated(t, y, ns, "out")
		return ready(o) && len(open.Open) == 0
	})
}
