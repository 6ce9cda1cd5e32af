// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package targets opens the clusters that have objects of tenants: the API that this server belongs
// to (home), and the targets whose kubeconfigs tenants and templates name.
//
// A target is opened once per Secret and key, for all tenants that use it, and closed when none
// does. A cluster that does not answer, or a kind that cannot be watched, is not asked again for a
// while: to find that out may take long, and must not delay every object and tenant.
//
// The author of a kubeconfig decides where requests go, and must not read what other servers answer
// to this one: show errors of a target only as [Explain] returns them.
package targets
