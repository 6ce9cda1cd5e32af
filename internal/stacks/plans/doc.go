// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package plans keeps readable plans where tofu-controller's users expect them: as text in
// ConfigMaps, or as a document in Secrets, with its names and labels.
//
// A plan that does not fit into one object is split. If it is too large for the API, text is cut,
// and a document replaced with a message. Objects of others are never overwritten.
package plans
