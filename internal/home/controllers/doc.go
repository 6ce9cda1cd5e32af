// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package controllers runs those controllers of kube-controller-manager that an API server needs:
// garbage collection, namespaces, quota, service accounts and their tokens, the root certificate in
// every namespace, and the aggregation of cluster roles.
//
// They watch metadata where possible, so that no cache holds the content of a Secret other than
// service account tokens.
package controllers
