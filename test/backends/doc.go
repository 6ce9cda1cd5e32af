// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package backends tests stacks whose states are in backends of tofu, on real servers where one can run
// here: S3 with a lock table, GCS, Azure, Kubernetes, and a server for cloud and remote. test/services has
// the same for PostgreSQL, and test/e2e for HTTP, with kills in the middle.
//
// "make test-backends" builds and installs the servers, with npm, and runs the tests.
package backends
