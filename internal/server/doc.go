// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package server is the composition root: it builds everything, wires it, starts and stops it. It is the only package
// besides internal/controlplane that knows which home the API has.
//
//	up.go          `yuba up`: the embedded home
//	controller.go  `yuba controller`: the same controllers against any API
//	delegated.go   serving content when the API server is somebody else's
//	publish.go     telling clients where that is
//	engine.go      what both have in common: stores, executor, stack controller, content
//	endpoint.go    the address that runners talk to
//	web.go         the address that people and probes talk to
//	tool.go        finding tofu and yuba-sandbox
package server
