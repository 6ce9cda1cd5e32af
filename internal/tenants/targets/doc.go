// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package targets opens the clusters that have objects of tenants: the API that this server belongs
// to (home), and the targets whose kubeconfigs tenants and templates name.
//
// A target is opened once per Secret and key, and closed when no tenant uses it. An unreachable
// cluster or unwatchable kind is not retried for a while, since each attempt may delay all tenants.
//
// The author of a kubeconfig decides where requests go, and must not see what other servers answer:
// show errors of a target only as [Explain] returns them.
package targets
