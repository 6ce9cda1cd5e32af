// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package app is the composition root: it builds everything, wires it, starts and stops it. It is the only package
// besides internal/home that knows which home the API has.
//
// The two homes:
//
//	up.go, web.go        `yuba up`: the embedded API, and the address that people and probes talk to
//	controller.go        `yuba controller`: the same controllers on any API
//	delegated.go         serving content when the API server is somebody else's; publish.go tells clients where that is
//	company.go, kind.go  who else works on the same objects there, and which version of the kind is installed
//
// What both have in common:
//
//	engine.go            stores, executor, stack controller, content
//	endpoint.go          the address that runners talk to
//	sources.go           sources that are fetched here; gitops.go and kustomizations.go what is made of them
//	tenants.go           tenants; tenantothers.go their other operators
//	notifications.go     webhooks that come in, alerts that go out
//	circuits.go          outages that many stacks suffer from alike
//	telemetry.go         metrics and traces
//	queue.go, why.go     what the content's address answers about runs and decisions; byhand.go what people ask for
//	collect.go           deletes blobs that nobody needs; retention.go runs and versions of states; providers.go providers
//	tool.go              finds tofu and yuba-sandbox
//	quieter.go           keeps controller-runtime from logging what is no news
package app
