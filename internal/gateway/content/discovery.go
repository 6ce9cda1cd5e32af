// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"encoding/json"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Resources are those of the group that users give rights on by name: "kubectl auth can-i" only knows
// what discovery lists. They are not objects: they cannot be watched or created. All other content
// belongs to objects of other groups.
var Resources = []metav1.APIResource{
	{Name: "modules", SingularName: "module", Kind: "Module", Verbs: metav1.Verbs{"get", "list", "update", "patch"}},
	{Name: "providers", SingularName: "provider", Kind: "Provider", Verbs: metav1.Verbs{"get", "list", "update"}},
	{Name: "signingkeys", SingularName: "signingkey", Kind: "SigningKey", Verbs: metav1.Verbs{"get", "update", "delete"}},
	{Name: "refactorings", SingularName: "refactoring", Kind: "Refactoring", Namespaced: true, Verbs: metav1.Verbs{"get", "list", "create"}},
	{Name: "weblinks", SingularName: "weblink", Kind: "WebLink", Verbs: metav1.Verbs{"create"}},
	{Name: "mirror", SingularName: "mirror", Kind: "Mirror", Verbs: metav1.Verbs{"get", "list", "update", "delete"}},
}

// discover answers what a cluster's API server asks of those that it passes requests on to.
func discover(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
		GroupVersion: Group + "/" + Version, APIResources: Resources})
}
