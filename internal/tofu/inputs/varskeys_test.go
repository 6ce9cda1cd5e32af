// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestInvalidVarsKeysAreRefusedWhateverTheObjectHolds(t *testing.T) {
	_, err := Resolve(t.Context(), world(), "team-a", spec(t, `
varsFrom:
- {kind: Secret, name: db, varsKeys: ["port:a:b", "port:", ":a", ""]}
- {kind: ConfigMap, name: gone, optional: true, varsKeys: [":"]}
`))
	var problems *Error
	if !errors.As(err, &problems) {
		t.Fatal(err)
	}
	const advice = ": write the name of a key, or KEY:VARIABLE to set a variable of another name"
	want := "5 inputs are missing or wrong:" +
		"\n  spec.varsFrom[0].varsKeys[0]: invalid rename pattern \"port:a:b\"" + advice +
		"\n  spec.varsFrom[0].varsKeys[1]: invalid rename pattern \"port:\"" + advice +
		"\n  spec.varsFrom[0].varsKeys[2]: invalid rename pattern \":a\"" + advice +
		"\n  spec.varsFrom[0].varsKeys[3]: invalid rename pattern \"\"" + advice +
		"\n  spec.varsFrom[1].varsKeys[0]: invalid rename pattern \":\"" + advice
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
}

func TestAbsentKeysAreWarningsUnlessOptional(t *testing.T) {
	in, err := Resolve(t.Context(), world(), "team-a", spec(t, `
varsFrom:
- {kind: Secret, name: db, varsKeys: ["nope:a"]}
- {kind: ConfigMap, name: shared, varsKeys: [gone]}
- {kind: Secret, name: db, optional: true, varsKeys: [other]}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`spec.varsFrom[0]: Secret team-a/db has no key "nope": the variable "a" is the empty string`,
		`spec.varsFrom[1]: ConfigMap team-a/shared has no key "gone": the variable "gone" is not set`,
	}
	if diff := cmp.Diff(want, in.Warnings); diff != "" {
		t.Error(diff)
	}
}

func TestAbsentKeysAreNotLentToTheEnvironment(t *testing.T) {
	in, err := Resolve(t.Context(), world(), "team-a", spec(t, `varsFrom: [{kind: Secret, name: db, varsKeys: [AWS_REGION, "port:AWS_PORT"]}]`), LendEnvironment([]string{"AWS_"}))
	if err != nil {
		t.Fatal(err)
	}
	lent := in.Lent(func(string) bool { return false })
	if len(lent) != 1 || lent[0].Name != "AWS_PORT" {
		t.Errorf("lent: %v", lent)
	}
}
