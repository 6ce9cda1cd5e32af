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
%[1]sv1alpha1%[1]s work as well; the API answers them with a warning. Fields marked "(Yuba)" are
additions to tofu-controller's kind. The same descriptions are in %[1]syuba kubectl explain tf.spec%[1]s.

`, "`", infrav1.Kind, infrav1.GroupVersion)

// marks say what the marks of fields mean, for those who read the table.
var marks = []struct {
	support infrav1.Support
	meaning string
}{
	{infrav1.SupportWorks, "the field works as described."},
	{infrav1.SupportPods, "the field configures Pods of runs, which do not exist.\n  The stack runs; a warning in its status names the field."},
	{infrav1.SupportKept, "manifests may set the field; it changes nothing."},
	{infrav1.SupportIgnored, "the stack runs without the field, and a warning in its\n  status names it."},
	{infrav1.SupportRefused, "ignoring the field could do harm, so the stack waits.\n  Its condition Ready names the field."},
}

// legend explains the marks that the rows have.
func legend(rows []row) string {
	used := map[infrav1.Support]bool{}
	for _, r := range rows {
		used[r.support.Support] = true
	}
	var text strings.Builder
	text.WriteString("The last column says whether Yuba supports a field. Runs are processes on the server's machine, with `yuba up`\n" +
		"and with `yuba controller`:\n\n")
	for _, mark := range marks {
		if used[mark.support] {
			fmt.Fprintf(&text, "- **%s**: %s\n", mark.support, mark.meaning)
		}
	}
	text.WriteString("\nFields of Kubernetes' own types, such as `EnvVar`, work as in a Pod.\n")
	return text.String()
}
