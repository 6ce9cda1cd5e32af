// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"encoding/json"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// discover answers what a cluster's API server asks of those that it passes requests on to. The group
// has no kinds: content is not objects.
func discover(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
		GroupVersion: Group + "/" + Version, APIResources: []metav1.APIResource{}})
}
