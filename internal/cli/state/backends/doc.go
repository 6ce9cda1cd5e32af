// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package backends has the presets of "yuba state migrate": for each backend of OpenTofu what has to
// be set, and how a stack's spec names it.
//
// Credentials come from Secrets. The package refuses them among settings, because a stack's spec is
// readable for everybody who may read the stack. It is pure.
package backends
