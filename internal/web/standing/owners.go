// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package standing

import (
	"cmp"
	"strings"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

// The labels that a Kustomization sets on what it applies.
const (
	LabelKustomization          = "kustomize.toolkit.fluxcd.io/name"
	LabelKustomizationNamespace = "kustomize.toolkit.fluxcd.io/namespace"
)

// AppliedBy returns the Kustomization that applied an object of a namespace with these labels; name is
// empty for none.
func AppliedBy(namespace string, labels map[string]string) (of, name string) {
	if name = labels[LabelKustomization]; name == "" {
		return "", ""
	}
	return cmp.Or(labels[LabelKustomizationNamespace], namespace), name
}

// TenantOf is NAMESPACE/NAME of the tenant that a stack belongs to; empty for none.
func TenantOf(t *infrav1.Terraform) string {
	if name := t.Labels[tenantv1.LabelTenant]; name != "" {
		return cmp.Or(t.Labels[tenantv1.LabelTenantNamespace], t.Namespace) + "/" + name
	}
	for _, owner := range t.OwnerReferences {
		if owner.Kind == tenantv1.TenantKind && strings.HasPrefix(owner.APIVersion, tenantv1.GroupVersion.Group+"/") {
			return t.Namespace + "/" + owner.Name
		}
	}
	return ""
}
