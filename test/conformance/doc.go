// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package conformance tries what users of tofu-controller rely on: manifests go in, objects and Secrets come out, and
// nothing else is looked at.
package conformance
