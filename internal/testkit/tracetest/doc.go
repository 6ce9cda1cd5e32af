// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package tracetest stands in for OpenTelemetry's collector: it takes spans over HTTP or gRPC and remembers them. The
// environment of the test names it, as it would name a real one.
package tracetest
