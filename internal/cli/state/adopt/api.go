// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"net"
	"strings"
)

// ExamineAPI reports what needs action before Yuba starts.
func ExamineAPI(f APIFacts) []Finding {
	found := []Finding{}
	add := func(more []Finding) { found = append(found, more...) }
	for _, c := range f.Controllers {
		add(do(one(Attention, "controller", "tofu-controller runs: Deployment %s/%s, %s. Two controllers must not work on the same stacks. Stop it first:", c.Namespace, c.Name, c.Detail),
			"kubectl -n %s scale deployment %s --replicas=0", c.Namespace, c.Name))
	}
	for _, l := range f.Leaders {
		add(one(Attention, "controller", "A tofu-controller is active: %s holds the Lease %s/%s. Yuba does not start before it has ended.", l.Detail, l.Namespace, l.Name))
	}
	if f.KindIsOlder {
		add(do(one(Attention, "kind", "The API serves tofu-controller's version of the kind, which drops fields that Yuba writes to the status. Install Yuba's version, which has all of its fields:"),
			"yuba crds install"))
	}
	if f.Yuba != "" {
		add(one(Fine, "controller", "Yuba already runs on this API: %s.", f.Yuba))
	}
	for _, host := range f.SourceHosts {
		if inCluster(host) {
			add(one(Note, "source", "Artifacts are served at %s, which only machines of the cluster can reach. Run Yuba on one of them, or give its machine a route to the cluster and its DNS.", host))
		}
	}
	for _, what := range f.Unknown {
		add(one(Attention, "controller", "%s", what))
	}
	return found
}

// inCluster reports whether a host is a Service of a cluster.
func inCluster(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(host, ".")
	return strings.HasSuffix(host, ".svc") || strings.Contains(host, ".svc.")
}
