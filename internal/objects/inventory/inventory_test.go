// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/objects/owned"
)

func TestLists(t *testing.T) {
	old := []owned.Ref{Ref("v1", "ConfigMap", "shop", "a"), Ref("apps/v1beta1", "Deployment", "shop", "web")}
	now := []owned.Ref{Ref("apps/v1", "Deployment", "shop", "web"), Ref("v1", "Namespace", "", "shop")}
	if diff := cmp.Diff([]string{"Deployment/shop/web", "Namespace/shop", "ConfigMap/shop/a"}, Names(Union(now, old))); diff != "" {
		t.Error(diff)
	}
	if got := Union(now, old)[0].Version; got != "v1" {
		t.Errorf("the version is %s", got)
	}
	if diff := cmp.Diff([]string{"ConfigMap/shop/a"}, Names(Without(old, now))); diff != "" {
		t.Error(diff)
	}
}

func TestPrintsInStatuses(t *testing.T) {
	counted := owned.Print{UID: "u", Generation: 1, Version: "5"}
	later := counted
	later.Version = "6"
	if PrintText(counted) != PrintText(later) {
		t.Error("a change of the status changes the print")
	}
	later.Generation = 2
	if PrintText(counted) == PrintText(later) {
		t.Error("a change of the spec does not")
	}
	uncounted := owned.Print{UID: "u", Version: "5"}
	later = uncounted
	later.Version = "6"
	if PrintText(uncounted) == PrintText(later) {
		t.Error("without generations the version counts")
	}
}
