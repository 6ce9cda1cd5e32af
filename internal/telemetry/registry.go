// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"strconv"
	"strings"
	"time"
)

// requestBuckets range from an answer from memory to a large archive over a slow network.
var requestBuckets = []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5, 10, 60, 600}

// maxPackages limits the names of modules and providers in labels.
const maxPackages = 1000

// ObserveRegistry counts an answer of the registry. subject is the module or provider whose archive was
// sent; empty for other answers.
func (m *Metrics) ObserveRegistry(kind string, status int, subject string, took time.Duration) {
	m.add(&registryRequests, 1, kind, strconv.Itoa(status))
	m.observe(&registrySeconds, took, kind)
	if subject != "" && status < 300 {
		m.add(&registryPackages, 1, packageKind(kind, subject), m.packages.name(subject))
	}
}

// packageKind is module, provider or mirror.
func packageKind(kind, subject string) string {
	switch {
	case kind == "module-archive":
		return "module"
	case strings.Count(subject, "/") > 1: // with the origin's host
		return "mirror"
	}
	return "provider"
}
