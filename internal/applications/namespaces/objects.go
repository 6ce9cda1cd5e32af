// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package namespaces

import (
	"encoding/base64"
	"fmt"
	"maps"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
)

// The kinds of objects.
var (
	NamespaceKind   = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
	QuotaKind       = schema.GroupVersionKind{Version: "v1", Kind: "ResourceQuota"}
	SecretKind      = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	ConfigMapKind   = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	RoleBindingKind = rbacv1.SchemeGroupVersion.WithKind("RoleBinding")
)

// Kinds are the kinds of objects, with their versions.
func Kinds() map[schema.GroupKind]string {
	kinds := map[schema.GroupKind]string{}
	for _, kind := range []schema.GroupVersionKind{NamespaceKind, QuotaKind, SecretKind, ConfigMapKind, RoleBindingKind} {
		kinds[kind.GroupKind()] = kind.Version
	}
	return kinds
}

// Tenant is a tenant that has been granted what it asks for.
type Tenant struct {
	Tree
	// Kind, Parent and Name are those of the instance, and Labels those of the definition.
	Kind, Parent, Name string
	Labels             map[string]string
	*Grant
	Children []Neighbour
	// Cluster is what the platform tells all charts, and Foreign whether somebody else writes the Secret
	// with values: in the root, that is where Cluster comes from.
	Cluster any
	Foreign bool
}

// Namespace is the namespace of the tenant.
func (t *Tenant) Namespace() string { return t.Child(t.Parent, t.Name) }

// Objects are the namespace, and after it what is in it.
func (t *Tenant) Objects() ([]*unstructured.Unstructured, error) {
	objects := []*unstructured.Unstructured{t.namespace()}
	if quota := t.ResourceQuota(); quota != nil {
		objects = append(objects, quota)
	}
	for i, level := range appv1.Levels {
		objects = append(objects, t.binding(level, appv1.Levels[i:]))
	}
	objects = append(objects, t.configMap())
	if t.Foreign {
		return objects, nil
	}
	secret, err := t.secret()
	if err != nil {
		return nil, err
	}
	return append(objects, secret), nil
}

func (t *Tenant) object(kind schema.GroupVersionKind, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(kind)
	u.SetName(name)
	if kind != NamespaceKind {
		u.SetNamespace(t.Namespace())
	}
	u.SetLabels(t.Marks())
	return u
}

// Marks are the labels by which the objects are the tenant's.
func (t *Tenant) Marks() map[string]string {
	return map[string]string{appv1.LabelKind: t.Kind, appv1.LabelGroup: appv1.InstanceVersion.Group, appv1.LabelName: t.Name, appv1.LabelNamespace: t.Parent}
}

func (t *Tenant) namespace() *unstructured.Unstructured {
	u := t.object(NamespaceKind, t.Namespace())
	labels := map[string]string{}
	maps.Copy(labels, t.Labels)
	for _, ancestor := range t.Chain(t.Namespace()) {
		labels[appv1.LabelAncestor+ancestor] = ""
	}
	annotations := map[string]string{appv1.AnnotationTenant: t.Text()}
	for key, value := range t.Values {
		if key == schedulingKey {
			labels[appv1.LabelScheduling] = value
			continue
		}
		// A host may be too long for a label.
		annotations[appv1.LabelInherited+key] = value
		if len(validation.IsValidLabelValue(value)) == 0 {
			labels[appv1.LabelInherited+key] = value
		}
	}
	maps.Copy(labels, t.Marks())
	u.SetLabels(labels)
	u.SetAnnotations(annotations)
	return u
}

// ResourceQuota limits the tenant's own namespace to what its children have left; nil without a quota.
func (t *Tenant) ResourceQuota() *unstructured.Unstructured {
	left := t.Quota.Left(quotas(t.Children))
	if len(left) == 0 {
		return nil
	}
	hard := map[string]any{}
	for name, amount := range left {
		hard[name] = amount.String()
	}
	u := t.object(QuotaKind, appv1.TenantQuota)
	u.Object["spec"] = map[string]any{"hard": hard}
	return u
}

// binding gives the ClusterRole of a level to the groups of this level and those above it, of the tenant
// and of its ancestors.
func (t *Tenant) binding(level string, above []string) *unstructured.Unstructured {
	var subjects []any
	for _, namespace := range t.Chain(t.Namespace()) {
		for _, l := range above {
			subjects = append(subjects, map[string]any{"apiGroup": rbacv1.GroupName, "kind": rbacv1.GroupKind, "name": Group(namespace, l)})
		}
	}
	u := t.object(RoleBindingKind, Group(t.Namespace(), level))
	u.Object["roleRef"] = map[string]any{"apiGroup": rbacv1.GroupName, "kind": "ClusterRole", "name": appv1.TenantRole + level}
	u.Object["subjects"] = subjects
	return u
}

// Group is the group of a tenant's users of a level.
func Group(namespace, level string) string { return namespace + "-" + level }

// secret has the values that charts of the namespace read.
func (t *Tenant) secret() (*unstructured.Unstructured, error) {
	cluster := t.Cluster
	if cluster == nil {
		cluster = map[string]any{}
	}
	text, err := yaml.Marshal(map[string]any{"_cluster": cluster, "_namespace": t.Values})
	if err != nil {
		return nil, fmt.Errorf("write the values of %s: %w", t.Namespace(), err)
	}
	u := t.object(SecretKind, appv1.PlatformValues)
	labels := u.GetLabels()
	labels["reconcile.fluxcd.io/watch"] = "Enabled" // Flux looks at releases at once
	u.SetLabels(labels)
	u.Object["type"], u.Object["data"] = "Opaque", map[string]any{"values.yaml": base64.StdEncoding.EncodeToString(text)}
	return u, nil
}

// configMap has the inherited values for stacks: outputs that contain a value of a Secret are hidden.
func (t *Tenant) configMap() *unstructured.Unstructured {
	data := map[string]any{}
	for key, value := range t.Values {
		data[key] = value
	}
	u := t.object(ConfigMapKind, appv1.PlatformValues)
	u.Object["data"] = data
	return u
}

// Platform reads the values that the platform team keeps in the root: what all charts get, and what the
// root's tenants inherit.
func Platform(valuesYAML []byte) (cluster any, above *Grant, err error) {
	var values struct {
		Cluster   any            `json:"_cluster"`
		Namespace map[string]any `json:"_namespace"`
	}
	if err := yaml.Unmarshal(valuesYAML, &values); err != nil {
		return nil, nil, fmt.Errorf("the key values.yaml of the Secret %s is not YAML", appv1.PlatformValues) // and may be secret
	}
	above = &Grant{Values: map[string]string{}}
	for key, value := range values.Namespace {
		if text, ok := value.(string); ok {
			above.Values[key] = text
		}
	}
	return values.Cluster, above, nil
}
