// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

var intro = fmt.Sprintf(`<!-- Written by "make generate" from the Go types. Do not edit. -->

# The kind Terraform

A stack is an object of the kind %[1]s%[2]s%[1]s (short: %[1]stf%[1]s) in %[1]s%[3]s%[1]s. Objects and manifests of
%[1]sv1alpha1%[1]s work as well; the API answers them with a warning. What is marked "(Yuba)" is Yuba's addition to
tofu-controller's kind. The same texts are in %[1]syuba kubectl explain tf.spec%[1]s.

`, "`", infrav1.Kind, infrav1.GroupVersion)

var marks = fmt.Sprintf(`The last column says what becomes of a field where runs are processes of the machine, as with
%[1]syuba up%[1]s and %[1]syuba controller%[1]s:

- **%[2]s**: it does what is said here.
- **%[3]s**: it describes the Pods of runs, and there are none. The stack runs; a warning in its status names the
  field.
- **%[4]s**: there is nothing that it could change. Manifests may have it.
- **%[5]s**: the stack runs without it, and a warning in its status names the field.
- **%[6]s**: leaving the field out could do harm, so the stack waits. Its condition Ready
  names the field.

Fields of Kubernetes' own types, such as %[1]sEnvVar%[1]s, are as in a Pod.
`, "`", infrav1.SupportWorks, infrav1.SupportPods, infrav1.SupportKept, infrav1.SupportIgnored, infrav1.SupportRefused)
