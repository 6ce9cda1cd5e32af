// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package registry shows the registry: modules with their README, inputs, versions and users, and providers
// of its own and those that it mirrors. All of it is read as the person.
package registry
