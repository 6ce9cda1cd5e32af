// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"errors"
	"testing"
)

// What is wrong with the stack's own fields stays wrong until somebody changes the stack. What is
// missing may come.
func TestWhichProblemsLast(t *testing.T) {
	for sentence, test := range map[string]struct {
		spec    string
		lasting bool
	}{
		"a Secret that is not there":             {`varsFrom: [{kind: Secret, name: nope}]`, false},
		"a key that is not there":                {`vars: [{name: p, valueFrom: {secretKeyRef: {name: db, key: nope}}}]`, false},
		"a value that is not text":               {`vars: [{name: p, valueFrom: {secretKeyRef: {name: binary, key: key}}}]`, false},
		"a name that no Secret has":              {`varsFrom: [{kind: Secret, name: No_Name}]`, true},
		"a kind that is not one":                 {`varsFrom: [{kind: Pod, name: db}]`, true},
		"a variable without a name":              {`vars: [{value: 1}]`, true},
		"two values for a variable":              {`vars: [{name: a, value: 1, valueFrom: {secretKeyRef: {name: db, key: port}}}]`, true},
		"a name of the environment that is none": {`env: [{name: "not a name", value: x}]`, true},
		"a template that cannot work":            {`values: {a: "${{ .nope"}`, true},
		"a template that may miss a key":         {`{readInputsFromSecrets: [{name: db, as: db}], values: {a: "${{ .db.nope }}"}}`, false},
		"one of each":                            {`{varsFrom: [{kind: Secret, name: nope}], vars: [{value: 1}]}`, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, err := Resolve(t.Context(), world(), "team-a", spec(t, test.spec))
			var problem *Error
			if !errors.As(err, &problem) || problem.Lasting() != test.lasting {
				t.Errorf("%+v", err)
			}
		})
	}
}
