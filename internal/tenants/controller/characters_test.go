// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"encoding/json"
	"testing"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// Wrongly decoded quotes in customers' texts are control characters.
func TestWhateverCharactersARowHasItsObjectsHave(t *testing.T) {
	const plan = "Kim\u0092s \u007f plan\u0085\u2028 \ufeff\uffff\U0001f600"
	w := newWorld(t)
	w.rows("acme,acme.example.com,1,"+plan, "beta,beta.example.com,1,free")
	w.registry(nil)
	w.template("web", oneConfigMap+`
manifests:
- id: stack
  nameTemplate: "{{ .uid }}-stack"
  spec:
    apiVersion: infra.contrib.fluxcd.io/v1alpha2
    kind: Terraform
    spec: {interval: 1h, suspend: true, inline: {main.tf: "variable \"plan\" {}\n"}, vars: [{name: plan, value: "{{ .plan }}"}]}
`)
	w.eventually("both tenants have their objects", func() bool {
		_, acme := w.configMap("acme-settings")
		_, beta := w.configMap("beta-settings")
		_, stack := get(w, &infrav1.Terraform{}, "acme-stack")
		return acme && beta && stack
	})
	cm, _ := w.configMap("acme-settings")
	if got := cm.Data["plan"]; got != plan {
		t.Errorf("%q became %q", plan, got)
	}
	stack, _ := get(w, &infrav1.Terraform{}, "acme-stack")
	var value string
	if err := json.Unmarshal(stack.Spec.Vars[0].Value.Raw, &value); err != nil || value != plan {
		t.Errorf("%q became %q (%v)", plan, value, err)
	}
}
