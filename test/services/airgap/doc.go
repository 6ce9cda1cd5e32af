// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package airgap tests a server that starts from a bundle in a network namespace without any other network: "yuba bundle
// create" packs the bundle from a registry and a mirror of releases, and everything after it sees only a loopback of its own.
//
// It needs root on Linux, for the namespace, and is part of "make test-services" for that reason.
package airgap
