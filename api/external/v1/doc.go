// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package v1 holds the kinds ExternalSecret, SecretStore and ClusterSecretStore of the group
// external-secrets.io, in the shape that the External Secrets Operator publishes (v0.20).
//
// Terms:
//
//   - Store: a SecretStore or ClusterSecretStore. It says where secrets are and with which credentials
//     they are read.
//   - Provider: the kind of a store's server. Yuba reads vault, aws, gcpsm and azurekv. Objects may name
//     others: their fields are kept, and the store is not Ready.
//   - Target: the Secret that an ExternalSecret keeps up to date.
//
// Conditions:
//
//	ExternalSecret      Ready  the target has what the store has (reason SecretSynced)
//	SecretStore         Ready  the configuration is valid, and credentials are there (reason Valid)
//
// Invariants:
//
//   - Fields are only those of the published kinds, with their names, defaults and conditions.
//   - No value of a secret is in a spec or a status.
//   - v1beta1 is served as well, with the same fields; v1 is stored.
//
// +kubebuilder:object:generate=true
// +groupName=external-secrets.io
package v1
