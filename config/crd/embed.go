// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package crd holds the CustomResourceDefinitions that Yuba's control plane serves, one file for each kind.
//
// The files are generated from Go types by "make generate": Yuba's own from the packages below api/, Flux's from the
// module that the code is compiled against. They are never edited by hand.
package crd

import "embed"

// FS holds the definitions as *.yaml files in its root, one document each.
//
//go:embed *.yaml
var FS embed.FS
