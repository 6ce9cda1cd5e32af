// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package definitions has the commands "yuba definition": they show what application kinds there are,
// write examples and reference pages of them, and preview a changed definition.
//
// A definition comes from the API or from a file, before it is applied. The preview renders objects
// as the server does (package internal/applications/render), for all instances, and changes nothing.
package definitions
