// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package plans keeps readable plans where tofu-controller's users look for them: as text in ConfigMaps,
// or as a document in Secrets, named and labelled as tofu-controller does.
//
// A plan that does not fit into one object is split. One that is too large for the API is cut, or, as a
// document, replaced with a message that says where it is. Objects of others are never overwritten.
package plans
