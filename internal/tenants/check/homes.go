// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/objects/graph"
	"github.com/yuba-dev/yuba/internal/tenants/render"
)

// homes reports namespaces that would be deleted with the tenant, but stay because of retained
// objects in them.
func (c *checker) homes(objects []render.Object) {
	stays := map[string]string{}
	for _, o := range objects {
		if namespace := o.Object.GetNamespace(); o.Resource.DeletionPolicy == tenantv1.DeletionPolicyRetain && stays[namespace] == "" {
			stays[namespace] = o.ID
		}
	}
	for _, o := range objects {
		id := graph.IdentityOf(o.Object)
		if kept := stays[id.Name]; id.Group == "" && id.Kind == "Namespace" && kept != "" && o.Resource.DeletionPolicy != tenantv1.DeletionPolicyRetain {
			c.find(Warning, o.ID, "the namespace stays when the tenant is deleted, because %q is in it and has deletionPolicy: Retain; set it here, too", kept)
		}
	}
}
