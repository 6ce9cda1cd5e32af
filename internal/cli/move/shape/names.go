// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package shape

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// maxFormer is how many former UIDs the status of a claim has room for.
const maxFormer = 16

// PoolOf is the pool that a claim names.
func PoolOf(claim *unstructured.Unstructured) (namespace, name string) {
	namespace, _, _ = unstructured.NestedString(claim.Object, "spec", "poolRef", "namespace") //nolint:errcheck // its own
	name, _, _ = unstructured.NestedString(claim.Object, "spec", "poolRef", "name")           //nolint:errcheck // the API demands one
	return cmp.Or(namespace, claim.GetNamespace()), name
}

// claimStatus adds what only claims have: the registration on the DNS server names the claim at the source by its UID, until the
// target has written it anew.
func claimStatus(status map[string]any, source, live *unstructured.Unstructured) {
	former, _, _ := unstructured.NestedStringSlice(source.Object, "status", "formerUIDs") //nolint:errcheck // none
	former = slices.DeleteFunc(append(former, string(source.GetUID())), func(uid string) bool { return uid == string(live.GetUID()) })
	former = former[max(0, len(former)-maxFormer):]
	delete(status, "formerUIDs")
	if len(former) == 0 {
		return
	}
	list := make([]any, len(former))
	for i, uid := range former {
		list[i] = uid
	}
	status["formerUIDs"] = list
}
