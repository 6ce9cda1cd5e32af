// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package clusters connects to the clusters of kubeconfigs that users put into Secrets.
//
// It does not trust the author of such a Secret: it runs no program and reads no file for a
// kubeconfig; it sends credentials only over TLS, to a verified server, and not to where that one
// redirects; it does not connect to metadata services (see package outbound); it limits the time of
// requests and the size of responses; and its errors do not quote the Secret.
//
// Turns limit how many owners use such clusters at a time, in the order in which they asked.
//
// The package keeps no connections, and does not know what clients do there.
package clusters
