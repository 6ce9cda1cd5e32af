// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package backendtest starts servers for tofu's state backends: fake-gcs-server for gcs, Azurite for azurerm,
// dynalite for the lock table of s3, and a server of its own for cloud and remote.
//
// Each of them demands a credential and counts requests without it, so that a test can try a wrong one:
// fake-gcs-server and dynalite check none, and stand behind a proxy that does. [Server.Settings] are the
// settings of the backend, [Server.Secret] those with its credential.
//
// "make test-backends" builds and installs the programs.
package backendtest
