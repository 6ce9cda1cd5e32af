// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// encryption makes OpenTofu encrypt state and plans; passphrase is an expression.
func encryption(passphrase string) string {
	return `
key_provider "pbkdf2" "phrase" {
  passphrase = ` + passphrase + `
  iterations = 200000
}
method "aes_gcm" "aes" { keys = key_provider.pbkdf2.phrase }
state {
  method   = method.aes_gcm.aes
  enforced = true
}
plan {
  method   = method.aes_gcm.aes
  enforced = true
}
`
}

const passphrase = "correct horse battery staple"

// encrypted contains the ways to enable encryption for a stack.
var encrypted = map[string]func(*infrav1.Terraform){
	"by the environment": func(o *infrav1.Terraform) {
		o.Spec.Env = []corev1.EnvVar{fromSecret("TF_ENCRYPTION", "phrase", "config")}
	},
	"by the program": func(o *infrav1.Terraform) {
		o.Spec.Inline["encryption.tf"] = "variable \"phrase\" {\n  type      = string\n  sensitive = true\n}\nterraform {\n  encryption {" +
			encryption("var.phrase") + "  }\n}\n"
		o.Spec.Vars = append(o.Spec.Vars, infrav1.Variable{Name: "phrase", ValueFrom: fromSecret("", "phrase", "phrase").ValueFrom})
	},
}

func TestStateAndPlansEncryptedByOpenTofu(t *testing.T) {
	for name, how := range encrypted {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			y, ns := common(t)
			y.create(t, secretOf(ns, "phrase", map[string]string{"phrase": passphrase, "config": encryption(`"` + passphrase + `"`)}))
			obj := inline(ns, "encrypted", greeting, variable("name", "world"), outputsTo("out"), destroying, how)
			y.create(t, obj)
			planned := y.await(t, obj, "its plan waits", waiting)
			text, err := y.content(t).Plan(t.Context(), ns, obj.Name, "")
			if err != nil || !bytes.Contains(text, []byte("hello world")) {
				t.Errorf("the plan is not readable (%v): %s", err, text)
			}
			approve(t, y, obj)
			applied := y.await(t, obj, "it is applied", func(o *infrav1.Terraform) bool {
				return ready(o) && o.Status.Plan.LastApplied == planned.Status.Plan.Pending
			})
			if diff := cmp.Diff([]string{"greeting", "parts"}, applied.Status.AvailableOutputs); diff != "" {
				t.Errorf("outputs: %s", diff)
			}
			if got := string(y.secret(t, ns, "out")["greeting"]); got != "hello world" {
				t.Errorf("the output is %q", got)
			}
			opaque(t, y.state(t, obj))

			change(t, y, obj, func(o *infrav1.Terraform) {
				auto(o)
				o.Spec.Vars[0].Value.Raw = []byte(`"again"`)
			})
			y.await(t, obj, "its change is applied", func(o *infrav1.Terraform) bool {
				return ready(o) && o.Status.LastAppliedRun != applied.Status.LastAppliedRun && o.Status.Plan.Summary == "+0 ~1 -0"
			})
			if got := string(y.secret(t, ns, "out")["greeting"]); got != "hello again" {
				t.Errorf("the output is %q", got)
			}
			// Yuba restores the Secret from the recorded outputs, without the key.
			y.delete(t, secretOf(ns, "out", nil))
			y.awaitSecret(t, ns, "out")
			y.delete(t, obj)
			y.awaitGone(t, obj)
			opaque(t, y.state(t, obj))
		})
	}
}

// opaque checks that a state contains only what OpenTofu leaves unencrypted.
func opaque(t *testing.T, state []byte) {
	t.Helper()
	var document map[string]json.RawMessage
	if err := json.Unmarshal(state, &document); err != nil {
		t.Fatal(err)
	}
	got := slices.Sorted(maps.Keys(document))
	if !slices.Contains(got, "encrypted_data") || slices.Contains(got, "resources") || bytes.Contains(state, []byte("hello")) {
		t.Errorf("the state is not encrypted: it has %v", got)
	}
}

func TestLostPassphraseLeavesTheEncryptedStateAlone(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	phrase := secretOf(ns, "phrase", map[string]string{"config": encryption(`"` + passphrase + `"`)})
	y.create(t, phrase)
	obj := inline(ns, "locked-out", greeting, variable("name", "world"), auto, encrypted["by the environment"], driftEvery(time.Hour))
	y.create(t, obj)
	y.await(t, obj, "it is ready", ready)
	before := y.state(t, obj)
	change(t, y, phrase, func(s *corev1.Secret) { s.Data["config"] = []byte(encryption(`"another phrase altogether"`)) })
	seen := y.await(t, obj, "it fails", func(o *infrav1.Terraform) bool {
		return settled(o) && condition(o, infrav1.ConditionReady).Status == "False"
	})
	if m := condition(seen, infrav1.ConditionReady).Message; !containsAll(m, "decrypt") {
		t.Errorf("the message does not tell: %s", m)
	}
	if diff := cmp.Diff(string(before), string(y.state(t, obj))); diff != "" {
		t.Errorf("the state was written:\n%s", diff)
	}
	change(t, y, phrase, func(s *corev1.Secret) { s.Data["config"] = []byte(encryption(`"` + passphrase + `"`)) })
	y.await(t, obj, "it is ready again", ready)
}
