// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const metricsText = `# TYPE apiserver_request_total counter
apiserver_request_total{code="200",component="apiserver",dry_run="",group="infra.contrib.fluxcd.io",resource="terraforms",scope="resource",subresource="status",verb="PATCH",version="v1alpha2"} 7
apiserver_request_total{code="409",component="apiserver",dry_run="",group="infra.contrib.fluxcd.io",resource="terraforms",scope="resource",subresource="status",verb="PATCH",version="v1alpha2"} 1
apiserver_request_total{code="200",component="apiserver",dry_run="",group="infra.contrib.fluxcd.io",resource="terraforms",scope="resource",subresource="",verb="GET",version="v1alpha2"} 99
apiserver_request_total{code="200",component="apiserver",dry_run="",group="coordination.k8s.io",resource="leases",scope="resource",subresource="",verb="PUT",version="v1"} 50
apiserver_request_total{code="201",component="apiserver",dry_run="",group="coordination.k8s.io",resource="leases",scope="resource",subresource="",verb="POST",version="v1"} 2
apiserver_request_total{code="201",component="apiserver",dry_run="",group="authorization.k8s.io",resource="subjectaccessreviews",scope="resource",subresource="",verb="POST",version="v1"} 3
apiserver_request_total{code="200",component="apiserver",dry_run="",group="",resource="secrets",scope="resource",subresource="",verb="PUT",version="v1"} 1e+03
apiserver_request_total_other{verb="PUT",resource="secrets"} 5
`

func TestWritesAreReadFromTheMetrics(t *testing.T) {
	got, err := parseWrites([]byte(metricsText))
	if err != nil {
		t.Fatal(err)
	}
	want := writes{"PATCH terraforms/status": 8, "POST leases": 2, "PUT leases": 50, "PUT secrets": 1000}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	for took, want := range map[time.Duration]int{10 * time.Minute: 1010, 20 * time.Second: 1055} {
		if n := got.withoutRenewals(took).total(); n != want {
			t.Errorf("they are %d in %s, want %d without the Leases that the API has renewed", n, took, want)
		}
	}
}

func TestWritesSinceAnEarlierLook(t *testing.T) {
	before := writes{"PUT secrets": 3, "POST leases": 1}
	after := writes{"PUT secrets": 5, "POST leases": 1, "PATCH terraforms": 10}
	for name, c := range map[string]struct {
		got  writes
		want string
	}{
		"what did not grow is not named":           {after.since(before), "PATCH terraforms 10, PUT secrets 2"},
		"without our own":                          {after.since(before).without("PATCH terraforms", 10), "PUT secrets 2"},
		"nothing is said to be nothing":            {after.since(after), "none"},
		"our own are never counted against others": {after.since(before).without("PATCH terraforms", 11), "PUT secrets 2"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.got.String(); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
