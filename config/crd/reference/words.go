// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

var intro = fmt.Sprintf(`<!-- Written by "make generate" from the Go types. Do not edit. -->

# The kind Terraform

A stack is an object of the kind %[1]s%[2]s%[1]s (short: %[1]stf%[1]s) in %[1]s%[3]s%[1]s. Objects and manifests of
%[1]sv1alpha1%[1]s work as well; the API answers them with a warning. What is marked "(Yuba)" is Yuba's addition to
tofu-controller's kind. The same texts are in %[1]syuba kubectl explain tf.spec%[1]s.

`, "`", infrav1.Kind, infrav1.GroupVersion)

// marks say what the marks of fields mean, for those who read the table.
var marks = []struct {
	support infrav1.Support
	meaning string
}{
	{infrav1.SupportWorks, "it does what is said here."},
	{infrav1.SupportPods, "it describes the Pods of runs, and there are none.\n  The stack runs; a warning in its status names the field."},
	{infrav1.SupportKept, "there is nothing that it could change. Manifests may have it."},
	{infrav1.SupportIgnored, "the stack runs without it, and a warning in its status\n  names the field."},
	{infrav1.SupportRefused, "leaving the field out could do harm, so the stack waits.\n  Its condition Ready names the field."},
}

// legend explains the marks that the rows have.
func legend(rows []row) string {
	used := map[infrav1.Support]bool{}
	for _, r := range rows {
		used[r.support.Support] = true
	}
	var text strings.Builder
	text.WriteString("The last column says what becomes of a field where runs are processes of the machine, as with\n" +
		"`yuba up` and `yuba controller`:\n\n")
	for _, mark := range marks {
		if used[mark.support] {
			fmt.Fprintf(&text, "- **%s**: %s\n", mark.support, mark.meaning)
		}
	}
	text.WriteString("\nFields of Kubernetes' own types, such as `EnvVar`, are as in a Pod.\n")
	return text.String()
}
