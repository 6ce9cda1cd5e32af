// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package sources shows what is fetched and applied: sources of any kind, Kustomizations and HelmReleases, and does
// what people do with them: sync, suspend and resume, and confirm a held pruning.
//
// They are of Flux's kinds. In a cluster Flux may own them; the page only changes what the commands of Flux change: annotations and spec.suspend.
package sources
