// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"testing"
)

func TestEntriesOfInventories(t *testing.T) {
	for id, want := range map[string]string{
		"ns_name_group.io_Kind": "group.io Kind/ns/name", "ns_name__ConfigMap": " ConfigMap/ns/name", "_crd.example.com_apiextensions.k8s.io_CustomResourceDefinition": "apiextensions.k8s.io CustomResourceDefinition/crd.example.com",
		"_system__node_rbac.authorization.k8s.io_ClusterRole": "rbac.authorization.k8s.io ClusterRole/system:node", "": "", "a": "", "a_b": "", "a_b_c": "", "____": "",
	} {
		n, _, ok := inventoryNode(id)
		if got := ""; ok {
			if got = n.Group + " " + n.String(); got != want {
				t.Errorf("%q: got %q, want %q", id, got, want)
			}
		} else if want != "" {
			t.Errorf("%q is refused", id)
		}
	}
}
