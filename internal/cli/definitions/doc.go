// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package definitions has the commands "yuba definition": they show what application kinds there are,
// write examples and reference pages of them, preview a changed definition, and steer its rollout.
//
// A definition comes from the API or from a file, before it is applied; its revisions come from the kind
// that it declares. The preview renders objects as the server does (package
// internal/applications/render), for all instances, and changes nothing. Rollback and pause write the
// definition with the rights of the user, and the server does the rest.
package definitions
