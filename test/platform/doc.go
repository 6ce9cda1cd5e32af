// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package platform tests the modules of examples/platform/modules.
//
// Two kinds of tests:
//
//   - What cloud-init gets is rendered by real tofu, checked against the part of cloud-init's schema that the modules use, and
//     its options against those that k3s documents.
//   - The cloud modules run in "tofu test" with mocks, on stand-ins whose schemas are in testdata/providers.json.
//     The schemas are written from the providers' documentation. Nothing was run against a cloud.
//
// Package local runs the modules with real machines.
package platform
