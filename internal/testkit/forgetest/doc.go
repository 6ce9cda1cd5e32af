// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package forgetest is the conformance suite of connections to forges. A World is one repository at a forge with people
// who work in it: internal/testkit/giteatest has a real one, internal/testkit/forgefake those that cannot be installed.
package forgetest
