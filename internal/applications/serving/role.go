// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
)

// contentGroup is the group of plans and approvals.
const contentGroup = "content.yuba.dev"

// Labels of roles, for the rules that aggregate them.
const (
	aggregateToEdit  = "rbac.authorization.k8s.io/aggregate-to-edit"
	aggregateToAdmin = "rbac.authorization.k8s.io/aggregate-to-admin"
	// aggregateToUser adds a kind to the role yuba:application-user.
	aggregateToUser = "yuba.dev/aggregate-to-application-user"
	// aggregateToTenantAdmin adds a kind to the roles of tenants' admins.
	aggregateToTenantAdmin = "yuba.dev/aggregate-to-tenant-admin"
)

// RoleName is the name of the role of a kind.
func RoleName(plural string) string { return "yuba:application:" + plural }

// Role makes the role of people who use a kind. It names the kind's objects without their status, which
// a role for all kinds ("*") would include. The garbage collector deletes it with the kind.
func Role(d *appv1.ApplicationDefinition, kind *apiextensionsv1.CustomResourceDefinition) *rbacv1.ClusterRole {
	plural := d.Spec.Application.Plural
	labels := map[string]string{appv1.LabelDefinition: d.Name}
	switch aggregateTo(d) {
	case appv1.AggregateToNone:
	case appv1.AggregateToAdmin:
		labels[aggregateToAdmin], labels[aggregateToTenantAdmin] = "true", "true"
	default:
		labels[aggregateToEdit], labels[aggregateToUser], labels[aggregateToTenantAdmin] = "true", "true", "true"
	}
	return &rbacv1.ClusterRole{
		TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"},
		ObjectMeta: metav1.ObjectMeta{Name: RoleName(plural), Labels: labels, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: apiextensionsv1.SchemeGroupVersion.String(), Kind: "CustomResourceDefinition", Name: kind.Name, UID: kind.UID}}},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{appv1.InstanceVersion.Group}, Resources: []string{plural}, Verbs: []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}},
			{APIGroups: []string{contentGroup}, Resources: []string{plural + "/plan", plural + "/why"}, Verbs: []string{"get"}},
			{APIGroups: []string{contentGroup}, Resources: []string{plural + "/approve"}, Verbs: []string{"create"}},
		},
	}
}

// aggregateTo is the role that includes a kind. Tenants are namespaces with roles of their own, and who may
// edit a namespace creates none otherwise.
func aggregateTo(d *appv1.ApplicationDefinition) appv1.AggregateTo {
	if b := d.Spec.Backend; d.Spec.AggregateTo == "" && b != nil && b.Type == appv1.BackendTenant {
		return appv1.AggregateToAdmin
	}
	return d.Spec.AggregateTo
}
