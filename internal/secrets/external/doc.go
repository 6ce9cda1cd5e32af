// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package external is the controller of the kinds of External Secrets: ExternalSecret, SecretStore and
// ClusterSecretStore, for servers without the External Secrets Operator.
//
// Nouns:
//
//   - A store is a SecretStore or a ClusterSecretStore; package remote reads what is in it.
//   - The target is the Secret that an ExternalSecret keeps up to date. Package decide decides when it is
//     refreshed and what happens to it, and package compose makes its content.
//
// Invariants:
//
//   - A SecretStore uses credentials of its own namespace only. A ClusterSecretStore uses those of the namespaces
//     that it names, and only for namespaces that its conditions allow. The server lends nobody its own identity.
//   - Stores that do not answer delay only the objects that name them, see package turns.
//   - Servers that stores name are reached as package outbound allows.
//   - Only the keys that an ExternalSecret wrote are changed or removed in a target.
//   - No value is in a condition, an event or a log.
//   - Stores are asked when something changes, when the refresh interval has passed, and after a failure; ConfigMaps
//     and Secrets are watched.
package external
