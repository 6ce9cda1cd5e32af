// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"net/http"
	"strings"
)

// Transport counts the requests through next that write to the API.
func (m *Metrics) Transport(next http.RoundTripper) http.RoundTripper { return &counted{m, next} }

type counted struct {
	metrics *Metrics
	next    http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (c *counted) RoundTrip(r *http.Request) (*http.Response, error) {
	switch r.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		c.metrics.add(&writesTotal, 1, c.metrics.resources.name(resourceOf(r.URL.Path)), r.Method)
	}
	return c.next.RoundTrip(r)
}

// WrappedRoundTripper lets client-go find the wrapped transport to close its connections.
func (c *counted) WrappedRoundTripper() http.RoundTripper { return c.next }

// resourceOf makes R.G/SUB of an API path: /apis/G/V/namespaces/N/R/NAME/SUB.
func resourceOf(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	group := ""
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		group, parts = "."+parts[1], parts[3:]
	default:
		return "(none)"
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		// A namespace's own subresources are status and finalize.
		if len(parts) > 3 || parts[2] != "status" && parts[2] != "finalize" {
			parts = parts[2:]
		}
	}
	resource := parts[0] + group
	if len(parts) > 2 {
		resource += "/" + parts[2]
	}
	return resource
}
