// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package tracetest is an OpenTelemetry collector for tests: it receives and stores spans over HTTP
// or gRPC. The environment of the test names it, as it would name a real one.
package tracetest
