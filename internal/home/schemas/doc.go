// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package schemas describes the types of the Kubernetes kinds that the embedded API server serves,
// as k8s.io/kubernetes/pkg/generated/openapi describes all types of Kubernetes.
//
// That package has 3.8 MB of Go code. The API server needs a tenth of it, but its single function
// keeps everything in the program. So definitions.json has that tenth, one definition a line. "make
// generate" writes it from the upstream package, and a test beside the generator compares the two.
package schemas
