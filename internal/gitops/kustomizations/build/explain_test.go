// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"strings"
	"testing"
)

// The errors are kustomize's own, with a password in each quote.
func TestTheCauseIsToldAndNothingIsQuoted(t *testing.T) {
	for sentence, c := range map[string]struct{ says, want string }{
		"a patch that is not one": {"trouble configuring builtin PatchTransformer with config: `\npatch: |\n  - hunter2: [\ntarget:\n  kind: Deployment\n`: unable to parse SM or JSON patch from [patch: \"- hunter2: [\"]",
			"trouble configuring builtin PatchTransformer: unable to parse SM or JSON patch"},
		"a patch in a file that is not there": {"trouble configuring builtin PatchTransformer with config: `\npath: nope.yaml\n`: failed to get the patch file from path(nope.yaml): no such file",
			"trouble configuring builtin PatchTransformer: failed to get the patch file from path(nope.yaml): no such file"},
		"a configuration that looks like its own end": {"trouble configuring builtin PatchTransformer with config: `\npatch: |\n`: hunter2\n`: must specify a target",
			"trouble configuring builtin PatchTransformer: must specify a target"},
		"a configuration without an end": {"trouble configuring builtin PatchTransformer with config: `\npatch: hunter2\n", "trouble configuring builtin PatchTransformer with config: `"},
		"a plugin": {"plugin PrefixTransformer.builtin.[noGrp]/x.[noNs] fails configuration: yaml: unmarshal errors:\n  line 7: cannot unmarshal !!seq into string\n  line 8: cannot unmarshal !!str `hunter2` into int",
			"plugin PrefixTransformer.builtin.[noGrp]/x.[noNs] fails configuration: yaml: unmarshal errors: line 7: cannot unmarshal !!seq into string line 8: cannot unmarshal !!str … into int"},
		"a node": {"wrong node kind: expected SequenceNode but got ScalarNode: node contents:\nhunter2\n", "wrong node kind: expected SequenceNode but got ScalarNode: node contents"},
		"a variable": {"var '{A Secret.v1.[noGrp] {metadata.name}}' cannot be mapped to a field in the set of known resources",
			"var '…' cannot be mapped to a field in the set of known resources"},
		"an object before the cause": {`updating name in &{"password":"hun}ter2"}: considering field spec/x: not a string`, "updating name in …: considering field spec/x: not a string"},
		"an object as a map":         {"empty item at [a] in object map[password:hun]ter2]", "empty item at [a]"},
		"a map before the cause":     {"cannot use map[password:hunter2] as text", "cannot use … as text"},
		"an object without an end":   {`bad {"password":"hunter2`, "bad"},
		"a literal":                  {"loading KV pairs: literal sources [hunter2]: invalid literal source hunter2, expected key=value", "loading KV pairs: a literal is not KEY=VALUE"},
		"too many names":             {"found multiple referrals\n**** Too many possible referral targets:\npassword: hunter2\n", "found multiple referrals"},
		"a plain text":               {`unable to find field "spec.nope.x" in replacement target`, `unable to find field "spec.nope.x" in replacement target`},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := strings.TrimRight(withoutQuotes(c.says), " :'")
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if strings.Contains(got, "ter2") {
				t.Errorf("the error contains a password: %s", got)
			}
		})
	}
}
