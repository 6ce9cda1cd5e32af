// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package dns tests names that fail over with a real PowerDNS, whose endpoints are HTTP servers that go up
// and down: what the controller writes, what the server answers, and that the model of package simulate
// answers as the server does.
package dns
