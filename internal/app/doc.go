// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package app is the composition root: it builds, connects, starts and stops everything. Besides
// internal/home, it is the only package that knows which home the API has.
//
// The two homes:
//
//	up.go, web.go        `yuba up`: the embedded API, and the address for browsers and probes
//	controller.go        `yuba controller`: the same controllers on any API
//	delegated.go         content on an existing API server, and its published address
//	company.go, kind.go  other controllers of the same objects, and the installed version of the kind
//
// Shared by both:
//
//	engine.go            stores, executor, stack controller, content
//	endpoint.go          the address for runners
//	gitops.go            sources, and what is built from them
//	tenants.go           tenants; tenantothers.go other operators of tenants
//	notifications.go     incoming webhooks, outgoing alerts
//	pullrequests.go      plans of pull requests
//	circuits.go          outages that affect many stacks
//	dns.go               DNS names that fail over
//	telemetry.go         metrics and traces
//	queue.go             content about runs and decisions; byhand.go manual operations
//	collect.go           deletes unused blobs; retention.go old runs and state versions; providers.go providers
//	registry.go          the registry of modules and providers; registryaccess.go who reads it;
//	                     registrylater.go opens a bucket that is unreachable at the start
//	registryserve.go     the registry alone
//	tool.go              finds or downloads tofu, and finds yuba-sandbox
//	quieter.go           filters controller-runtime's log
package app
