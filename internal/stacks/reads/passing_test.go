// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// A stack that only a person can fix is stalled. One that reads another stack's output is not.
func TestWhatAnotherStackMayMendIsPassing(t *testing.T) {
	secrets := secretsOf{"own": {"size": "many"}, "outputs": {"size": "many"}}
	sized := map[string]string{"main.tf": "variable \"size\" { type = number }\n"}
	two := map[string]string{"main.tf": "variable \"size\" {}\nvariable \"more\" {}\n"}
	value := func(text string) func(*infrav1.TerraformSpec) {
		return func(s *infrav1.TerraformSpec) {
			s.Vars = []infrav1.Variable{{Name: "size", Value: &apiextensionsv1.JSON{Raw: []byte(text)}}}
		}
	}
	both := func(changes ...func(*infrav1.TerraformSpec)) func(*infrav1.TerraformSpec) {
		return func(s *infrav1.TerraformSpec) {
			for _, change := range changes {
				change(s)
			}
		}
	}
	key := func(name, key string, optional bool) func(*infrav1.TerraformSpec) {
		return func(s *infrav1.TerraformSpec) {
			s.Vars = append(s.Vars, infrav1.Variable{Name: "size", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: name}, Key: key, Optional: ptr.To(optional)}}})
		}
	}
	onlySize := func(s *infrav1.TerraformSpec) {
		s.VarsFrom = []infrav1.VarsReference{{Kind: "Secret", Name: "outputs", VarsKeys: []string{"size"}}}
	}
	for sentence, test := range map[string]struct {
		files   map[string]string
		change  func(*infrav1.TerraformSpec)
		passing bool
	}{
		"nobody sets the variable":                                           {sized, func(*infrav1.TerraformSpec) {}, false},
		"the stack sets it to a value of another type":                       {sized, value(`"many"`), false},
		"a Secret of nobody has a value of another type":                     {sized, varsFrom("own"), false},
		"an output of another stack has another type":                        {sized, varsFrom("outputs"), true},
		"a key of such outputs has another type":                             {sized, key("outputs", "size", false), true},
		"a variable that another stack may yet put out":                      {two, varsFrom("outputs"), true},
		"a variable that it would not be read for":                           {two, onlySize, false},
		"a variable that a Secret of nobody lacks":                           {two, varsFrom("own"), false},
		"an optional Secret that is not there":                               {sized, key("nowhere", "size", true), true},
		"an optional output that is not there":                               {sized, key("outputs", "other", true), true},
		"an optional key of a Secret of nobody":                              {sized, key("own", "other", true), false},
		"the stack's own value is wrong beside another stack's outputs":      {two, both(onlySize, value(`3`)), false},
		"a program that does not parse":                                      {map[string]string{"main.tf": "variable {"}, func(*infrav1.TerraformSpec) {}, false},
		"a template that fails":                                              {map[string]string{"main.tf.tpl": "{{ .nope }}"}, func(*infrav1.TerraformSpec) {}, false},
		"a template that may miss an output":                                 {map[string]string{"main.tf.tpl": "{{ .nope }}"}, varsFrom("outputs"), true},
		"a file of values that is not there, beside another stack's outputs": {sized, both(varsFrom("outputs"), func(s *infrav1.TerraformSpec) { s.TfVarsFiles = []string{"nope.tfvars"} }), false},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, err := configured(t, secrets, test.files, test.change)
			var problem *Problem
			if !errors.As(err, &problem) || problem.Passing != test.passing {
				t.Errorf("%+v, %v", problem, err)
			}
		})
	}
}
