// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// maxStatePart is the longest that workspace and suffix may be: each is the value of a label of the state's Secret.
const maxStatePart = validation.LabelValueMaxLength

// labelProblem says which of the labels for the state's Secret no object can have; empty when it can have all. The API would
// refuse the Secret, and the run that wants to store its state would try again forever.
func labelProblem(obj *infrav1.Terraform) string {
	for _, name := range slices.Sorted(maps.Keys(stateLabels(obj))) {
		value := stateLabels(obj)[name]
		problems := append(validation.IsQualifiedName(name), validation.IsValidLabelValue(value)...)
		if len(problems) > 0 {
			return fmt.Sprintf("spec.backendConfig.labels: the label %q with the value %q is not valid: %s", name, value, problems[0])
		}
	}
	return ""
}

// nameProblem says why no Secret can keep the state under the names that the stack gives, and which field to change.
func nameProblem(obj *infrav1.Terraform, err error) string {
	suffix := "the stack's name"
	if b := obj.Spec.BackendConfig; b != nil && b.SecretSuffix != "" {
		suffix = "spec.backendConfig.secretSuffix"
	}
	for _, part := range []struct{ field, value, change string }{
		{"spec.workspace", obj.WorkspaceName(), "spec.workspace"},
		{suffix, obj.StateSuffix(), "spec.backendConfig.secretSuffix"},
	} {
		if n := len(part.value); n > maxStatePart {
			return fmt.Sprintf("The Secret that keeps the state is labelled with %s, which has %d characters; a label has at most %d. Set %s to a shorter one",
				part.field, n, maxStatePart, part.change)
		}
		if len(validation.IsDNS1123Subdomain(part.value)) > 0 {
			return fmt.Sprintf("The Secret that keeps the state is named after %s, and %q cannot be part of such a name. "+
				"Set %s to one of lower-case letters, digits, \"-\" and \".\"", part.field, part.value, part.change)
		}
	}
	return fmt.Sprintf("%s. Choose another spec.workspace or spec.backendConfig.secretSuffix", err)
}
