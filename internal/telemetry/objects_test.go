// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// manyObjects are n stacks in as many namespaces.
func manyObjects(n int) func(func(*Object)) {
	return func(yield func(*Object)) {
		for i := range n {
			yield(&Object{Kind: "Terraform", Namespace: fmt.Sprintf("tenant-%d", i), Name: "vpc", Ready: "True", Reason: "TerraformAppliedSucceed"})
		}
	}
}

func TestObjectsAreCountedByHowTheyStand(t *testing.T) {
	m := newMetrics(t, func(o *Options) {
		o.Objects = func(yield func(*Object)) {
			yield(&Object{Kind: "Terraform", Namespace: "a", Name: "1", Ready: "True", Reason: "Applied"})
			yield(&Object{Kind: "Terraform", Namespace: "a", Name: "2", Ready: "True", Reason: "Applied", Suspended: true})
			yield(&Object{Kind: "Terraform", Namespace: "a", Name: "3", Ready: "False", Reason: "Drift", Drifted: true, Waits: true})
			yield(&Object{Kind: "Terraform", Namespace: "b", Name: "4", LockedOut: true})
			yield(&Object{Kind: "GitRepository", Namespace: "b", Name: "5", Ready: "weird"})
			yield(&Object{Kind: "CircuitBreaker", Name: "6", Ready: "True"})
			yield(&Object{Kind: "Terraform", Namespace: "c", Name: "7", Ready: "False", Reason: "Failed"})
			yield(&Object{Kind: "Terraform", Namespace: "c", Name: "8", Ready: "False", Reason: "Failed", Paused: true})
			yield(&Object{Kind: "Terraform", Namespace: "c", Name: "9", Ready: "False", Reason: "Failed", Suspended: true})
			yield(&Object{Kind: "Terraform", Namespace: "c", Name: "10", Ready: "False", Reason: "Failed", Blocked: true})
		}
	})
	wantValues(t, scrape(t, m), map[string]map[string]float64{
		"yuba_objects": {"kind=Terraform,namespace=a,ready=True,reason=Applied": 2, "kind=Terraform,namespace=a,ready=False,reason=Drift": 1,
			"kind=Terraform,namespace=b,ready=Unknown,reason=": 1, "kind=GitRepository,namespace=b,ready=Unknown,reason=": 1,
			"kind=CircuitBreaker,namespace=,ready=True,reason=": 1, "kind=Terraform,namespace=c,ready=False,reason=Failed": 4},
		"yuba_objects_suspended":        {"kind=Terraform,namespace=a": 1, "kind=Terraform,namespace=c": 1},
		"yuba_objects_failing":          {"kind=Terraform,namespace=c": 1},
		"yuba_stacks_awaiting_approval": {"namespace=a": 1},
		"yuba_stacks_drifted":           {"namespace=a": 1},
		"yuba_stacks_locked_out":        {"namespace=b": 1},
	})
}

// Reasons and names of namespaces are chosen by others than this server.
func TestLabelsHaveABoundedNumberOfValues(t *testing.T) {
	m := newMetrics(t, func(o *Options) { o.Objects = manyObjects(maxNamespaces + 500) })
	got := values(scrape(t, m)["yuba_objects"])
	if len(got) != maxNamespaces+1 || got["kind=Terraform,namespace=(others),ready=True,reason=TerraformAppliedSucceed"] != 500 {
		t.Errorf("%d series, %v others", len(got), got["kind=Terraform,namespace=(others),ready=True,reason=TerraformAppliedSucceed"])
	}
	m = newMetrics(t, func(o *Options) {
		o.Objects = func(yield func(*Object)) {
			for i := range 1000 {
				yield(&Object{Kind: "ExternalArtifact", Namespace: "a", Reason: fmt.Sprintf("Reason%d", i)})
			}
			yield(&Object{Kind: "ExternalArtifact", Namespace: "a", Reason: strings.Repeat("x", 1000)})
		}
	})
	if got := values(scrape(t, m)["yuba_objects"]); len(got) != maxReasons+1 {
		t.Errorf("%d series of reasons", len(got))
	}
	m = newMetrics(t, func(o *Options) {
		o.PerObject = true
		o.Objects = func(yield func(*Object)) {
			yield(&Object{Kind: "Bucket", Namespace: "a", Name: "b", Reason: "\xff", Revision: "\xff", Source: "\xff"})
		}
	})
	if got := values(scrape(t, m)["yuba_objects"]); len(got) != 1 {
		t.Errorf("what is no text: %v", got)
	}
}

func TestObjectsAreNamedWhenThatIsAskedFor(t *testing.T) {
	objects := []*Object{{Group: "infra.contrib.fluxcd.io", Version: "v1alpha2", Kind: "Terraform", Namespace: "team", Name: "vpc", Ready: "True", Revision: "main@sha1:1", Source: "infra"}}
	m := newMetrics(t, func(o *Options) {
		o.PerObject = true
		o.Objects = func(yield func(*Object)) {
			for _, o := range objects {
				yield(o)
			}
		}
	})
	m.ObserveRun(ended(nil))
	m.ObserveLook("GitRepository", "team", "gone", "new", time.Second)
	m.ObserveApply("team", "gone", true, time.Second)
	wantValues(t, scrape(t, m), map[string]map[string]float64{
		"gotk_resource_info":  {"customresource_group=infra.contrib.fluxcd.io,customresource_kind=Terraform,customresource_version=v1alpha2,exported_namespace=team,name=vpc,ready=True,revision=main@sha1:1,source_name=infra,suspended=false": 1},
		"gotk_suspend_status": {"kind=Terraform,name=vpc,namespace=team": 0},
		"gotk_reconcile_condition": {"kind=Terraform,name=vpc,namespace=team,status=True,type=Ready": 1, "kind=Terraform,name=vpc,namespace=team,status=False,type=Ready": 0,
			"kind=Terraform,name=vpc,namespace=team,status=Unknown,type=Ready": 0},
		// Those of objects that are gone went with them.
		"gotk_reconcile_duration_seconds": {"kind=Terraform,name=vpc,namespace=team": 1},
	})
	objects = nil
	wantValues(t, scrape(t, m), map[string]map[string]float64{"gotk_resource_info": {}, "gotk_reconcile_duration_seconds": {}})
}
