// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package schemas describes the types of Kubernetes' own kinds that the embedded API server serves, as
// k8s.io/kubernetes/pkg/generated/openapi describes all of Kubernetes' types.
//
// That package is 3.8 MB of Go code, of which the API server needs a tenth, and its one function keeps all of it in the
// program. So definitions.json has the tenth, one definition on each line. "make generate" writes it from the package
// that it stands for, and a test beside the generator compares the two.
package schemas
