// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

// TestOwnConfigurationKeepsTheMirror installs from the mirror with real tofu and a stack's own
// file.
func TestOwnConfigurationKeepsTheMirror(t *testing.T) {
	b := newBench(t)
	b.opts.ProviderMirror = mirrorWith(t, "dummy", "1.2.3")
	b.start()
	for sentence, c := range map[string]struct {
		config   string
		mirrored bool
	}{
		"credentials": {"credentials \"registry.example.com\" {\n  token = \"t0ken-of-the-registry\"\n}", true},
		"the words in a comment, a text and a block": {"# provider_installation {}\ncredentials \"a.example\" {\n  token = \"provider_installation { t0ken-of-the-registry\"\n}\n", true},
		"JSON":                         {`{"credentials": {"registry.example.com": {"token": "t0ken-of-the-registry"}}}`, true},
		"its own installation":         {"provider_installation {\n  direct {\n    exclude = [\"registry.example.com/*/*\"]\n  }\n}", false},
		"its own installation as JSON": {`{"provider_installation": [{"direct": [{"exclude": ["registry.example.com/*/*"]}]}]}`, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := b.stack("configured", run.OperationPlan, program(needsProvider))
			r.spec.CLIConfig = []byte(c.config)
			result := b.do(r)
			// The program in the mirror is not a provider: init succeeds, and the plan fails.
			if installed := result.FailedStep == run.StepPlan; installed != c.mirrored {
				t.Errorf("from the mirror: %v, want %v: %s\n%s", installed, c.mirrored, result.Error, r.log)
			}
			if strings.Contains(string(r.log)+result.Error, "t0ken-of-the-registry") {
				t.Error("the token is shown")
			}
			if found := b.findBelow("t0ken-of-the-registry"); len(found) > 0 {
				t.Errorf("the token is left in %v", found)
			}
		})
	}
	broken := b.stack("configured", run.OperationPlan, program(twoThings))
	broken.spec.CLIConfig = []byte("{ not JSON")
	if result := b.do(broken); result.Class != run.FailureConfiguration || !strings.Contains(result.Error, "configuration file") {
		t.Errorf("%+v", result)
	}
}
