// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package controllers runs, inside this process, those controllers of a cluster's kube-controller-manager without which
// an API server is not whole: garbage collection, namespaces, quota, service accounts and their tokens, the root
// certificate in every namespace and the aggregation of cluster roles.
//
// They watch metadata where they can, so that nothing here holds the content of a Secret other than a service account's
// token.
package controllers
