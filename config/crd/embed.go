// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package crd holds the CustomResourceDefinitions that Yuba's control plane serves, one file for each kind.
//
// The files are generated from Go types by "make generate": Yuba's own from the packages below api/, Flux's from the
// modules that the code is compiled against. They are never edited by hand.
package crd

import (
	"embed"
	"io/fs"
)

// FS holds the definitions that every API which Yuba works on must serve, as *.yaml files in its root, one document each.
//
//go:embed *.yaml
var FS embed.FS

// All holds those of FS and, in the directory flux, the kinds of Flux that the embedded control plane serves by itself. On
// a cluster they are there where Flux is, in Flux's own versions.
//
//go:embed *.yaml flux/*.yaml
var All embed.FS

// Embedded holds those of All and, in the directory external, the kinds of External Secrets that the embedded control
// plane serves. On a cluster they belong to the External Secrets Operator, where it is.
//
//go:embed *.yaml flux/*.yaml external/*.yaml
var Embedded embed.FS

// External holds only the kinds of External Secrets, as *.yaml files in its root.
func External() fs.FS {
	sub, err := fs.Sub(Embedded, "external")
	if err != nil {
		panic(err) // the directory is part of the program
	}
	return sub
}

// Flux holds only the kinds of Flux, as *.yaml files in its root.
func Flux() fs.FS {
	sub, err := fs.Sub(All, "flux")
	if err != nil {
		panic(err) // the directory is part of the program
	}
	return sub
}
