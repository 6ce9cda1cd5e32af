// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

// A key program that runs while tofu reads a plan replaces the providers.
func TestAPlanIsShownByTheProvidersOfInit(t *testing.T) {
	b := newBench(t).start()
	for name, c := range map[string]struct{ does, refused string }{
		"nothing":      {"true", ""},
		"plants":       {"mkdir -p .terraform/providers/x && touch .terraform/providers/x/y", "since init"},
		"swaps":        {"mv .terraform aside && cp -r aside .terraform && rm -r .terraform && mv aside .terraform", "while tofu showed"},
		"another-lock": {"echo '# x' >> .terraform.lock.hcl", "since init"},
	} {
		t.Run(name, func(t *testing.T) {
			files := program(twoThings)
			files["key.sh"] = "#!/bin/sh\n{ " + c.does + "; } >&2\n" + `echo '{"magic":"OpenTofu-External-Key-Provider","version":1}'
cat >/dev/null
echo '{"keys":{"encryption_key":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=","decryption_key":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="},"meta":{"external_data":{}}}'
`
			r := b.stack(name, run.OperationPlan, files)
			r.spec.Describe, r.spec.PlanText = true, true
			r.spec.Env = []run.EnvVar{externalKey(t)}
			result := b.do(r)
			if c.refused == "" {
				if result.Outcome != run.OutcomeSucceeded || len(r.planText) == 0 {
					t.Errorf("%+v", result)
				}
				return
			}
			if result.Outcome != run.OutcomeFailed || result.FailedStep != run.StepShow || !strings.Contains(result.Error, c.refused) {
				t.Errorf("%+v\n%s", result, r.log)
			}
			if len(r.planJSON) > 0 {
				t.Errorf("shown is:\n%s", r.planJSON)
			}
		})
	}
}
