// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package chart tests the Helm chart, charts/yuba, with Helm's own library, without a cluster. It is
// a module of its own, so that Yuba does not link Helm. The module also builds bin/helm.
//
// Each folder of testdata has values of a typical installation, the manifests that the chart makes
// of them, and its notes. After a change of the chart, write them anew and review the difference:
//
//	go -C test/chart test . -update
package chart
