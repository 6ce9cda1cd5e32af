// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Groups and kinds that occur more than once.
const (
	stackGroup  = "infra.contrib.fluxcd.io"
	stackKind   = "Terraform"
	sourceGroup = "source.toolkit.fluxcd.io"

	kindSecret         = "Secret"
	kindServiceAccount = "ServiceAccount"
)

// collector collects the references of one object.
type collector struct {
	group, kind, namespace string
	found                  []reference
}

// readers read the references of known kinds.
var readers = map[schema.GroupKind]func(c *collector, u map[string]any){
	{Group: "", Kind: "Pod"}:                                  func(c *collector, u map[string]any) { c.pod(u["spec"]) },
	{Group: "", Kind: "ReplicationController"}:                podTemplate,
	{Group: "apps", Kind: "Deployment"}:                       podTemplate,
	{Group: "apps", Kind: "DaemonSet"}:                        podTemplate,
	{Group: "apps", Kind: "ReplicaSet"}:                       podTemplate,
	{Group: "apps", Kind: "StatefulSet"}:                      statefulSet,
	{Group: "batch", Kind: "Job"}:                             podTemplate,
	{Group: "batch", Kind: "CronJob"}:                         func(c *collector, u map[string]any) { c.pod(at(u, "spec", "jobTemplate", "spec", "template", "spec")) },
	{Group: "", Kind: kindServiceAccount}:                     serviceAccount,
	{Group: "networking.k8s.io", Kind: "Ingress"}:             ingress,
	{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}:   autoscaler,
	{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}: roleBinding,
	{Group: stackGroup, Kind: stackKind}:                      stack,
	{Group: sourceGroup, Kind: "GitRepository"}:               source,
	{Group: sourceGroup, Kind: "OCIRepository"}:               source,
	{Group: sourceGroup, Kind: "HelmRepository"}:              source,
	{Group: sourceGroup, Kind: "Bucket"}:                      source,
	{Group: "kustomize.toolkit.fluxcd.io", Kind: "Kustomization"}: func(c *collector, u map[string]any) {
		c.flux(u)
		c.from(each(u, "spec", "postBuild", "substituteFrom"))
		c.secret(text(u, "spec", "decryption", "secretRef", "name"))
	},
	{Group: "helm.toolkit.fluxcd.io", Kind: "HelmRelease"}: func(c *collector, u map[string]any) {
		c.flux(u)
		c.source(at(u, "spec", "chart", "spec", "sourceRef"))
		c.source(at(u, "spec", "chartRef"))
		c.from(each(u, "spec", "valuesFrom"))
	},
}

// references returns the references of an object, in the order of its fields.
func references(u *unstructured.Unstructured) []reference {
	gvk := u.GroupVersionKind()
	c := &collector{group: gvk.Group, kind: gvk.Kind, namespace: u.GetNamespace()}
	if c.namespace != "" {
		c.found = append(c.found, reference{Identity{GroupKind: schema.GroupKind{Kind: "Namespace"}, Name: c.namespace}, true})
	}
	switch read := readers[gvk.GroupKind()]; {
	case read != nil:
		read(c, u.Object)
	case strings.Contains(gvk.Group, ".") && !strings.HasSuffix(gvk.Group, ".k8s.io"):
		podTemplate(c, u.Object)
		c.usual(u.Object["spec"], 0)
	}
	return c.found
}

func podTemplate(c *collector, u map[string]any) { c.pod(at(u, "spec", "template", "spec")) }

func statefulSet(c *collector, u map[string]any) {
	podTemplate(c, u)
	c.core("Service", text(u, "spec", "serviceName"))
}

func serviceAccount(c *collector, u map[string]any) {
	for _, field := range []string{"secrets", "imagePullSecrets"} {
		for _, s := range each(u, field) {
			c.secret(text(s, "name"))
		}
	}
}

func ingress(c *collector, u map[string]any) {
	c.core("Service", text(u, "spec", "defaultBackend", "service", "name"))
	for _, rule := range each(u, "spec", "rules") {
		for _, path := range each(rule, "http", "paths") {
			c.core("Service", text(path, "backend", "service", "name"))
		}
	}
	for _, tls := range each(u, "spec", "tls") {
		c.secret(text(tls, "secretName"))
	}
}

func autoscaler(c *collector, u map[string]any) {
	scaled := at(u, "spec", "scaleTargetRef")
	if gv, err := schema.ParseGroupVersion(text(scaled, "apiVersion")); err == nil {
		c.add(gv.Group, text(scaled, "kind"), c.namespace, text(scaled, "name"), false)
	}
}

func roleBinding(c *collector, u map[string]any) {
	if text(u, "roleRef", "kind") == "Role" {
		c.add("rbac.authorization.k8s.io", "Role", c.namespace, text(u, "roleRef", "name"), false)
	}
	for _, subject := range each(u, "subjects") {
		if text(subject, "kind") == kindServiceAccount {
			c.add("", kindServiceAccount, cmp.Or(text(subject, "namespace"), c.namespace), text(subject, "name"), false)
		}
	}
}

func source(c *collector, u map[string]any) {
	for _, field := range []string{"secretRef", "certSecretRef", "proxySecretRef"} {
		c.secret(text(u, "spec", field, "name"))
	}
}

// flux reads the common fields of Flux's kinds.
func (c *collector) flux(u map[string]any) {
	c.source(at(u, "spec", "sourceRef"))
	c.dependencies(each(u, "spec", "dependsOn"))
	c.secret(text(u, "spec", "kubeConfig", "secretRef", "name"))
	c.core(kindServiceAccount, text(u, "spec", "serviceAccountName"))
}

func stack(c *collector, u map[string]any) {
	spec := at(u, "spec")
	c.source(at(spec, "sourceRef"))
	c.core(kindServiceAccount, text(spec, "serviceAccountName"))
	c.dependencies(each(spec, "dependsOn"))
	for _, v := range each(spec, "vars") {
		c.valueFrom(v)
	}
	c.environment(spec)
	c.from(each(spec, "varsFrom"))
	c.from(each(spec, "backendConfigsFrom"))
	for _, read := range each(spec, "readInputsFromSecrets") {
		c.secret(text(read, "name"))
	}
	for _, file := range each(spec, "fileMappings") {
		c.secret(text(file, "secretRef", "name"))
	}
	if ref := at(spec, "cliConfigSecretRef"); ref != nil {
		c.add("", kindSecret, cmp.Or(text(ref, "namespace"), c.namespace), text(ref, "name"), false)
	}
	pod := at(spec, "runnerPodTemplate", "spec")
	c.environment(pod)
	c.pod(pod)
}

// deepest limits the depth of references in manifests of custom kinds.
const deepest = 32

// usual reads a manifest of an unknown kind, by the usual names of references.
func (c *collector) usual(value any, depth int) {
	if depth > deepest {
		return
	}
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			c.usual(item, depth+1)
		}
	case map[string]any:
		for _, field := range slices.Sorted(maps.Keys(v)) {
			switch field {
			case "secretRef", "secretKeyRef":
				c.elsewhere(kindSecret, v[field])
			case "configMapRef", "configMapKeyRef":
				c.elsewhere("ConfigMap", v[field])
			default:
				c.usual(v[field], depth+1)
			}
		}
	}
}

// elsewhere adds a reference that may name a namespace.
func (c *collector) elsewhere(kind string, ref any) {
	if !optional(ref) {
		c.add("", kind, cmp.Or(text(ref, "namespace"), c.namespace), text(ref, "name"), false)
	}
}

// dependencies adds other objects of the same kind, which must be ready.
func (c *collector) dependencies(list []any) {
	for _, other := range list {
		c.add(c.group, c.kind, cmp.Or(text(other, "namespace"), c.namespace), text(other, "name"), true)
	}
}

func (c *collector) source(ref any) {
	c.add(sourceGroup, text(ref, "kind"), cmp.Or(text(ref, "namespace"), c.namespace), text(ref, "name"), false)
}

// from reads a list of Secrets and ConfigMaps.
func (c *collector) from(list []any) {
	for _, ref := range list {
		if kind := text(ref, "kind"); kind == kindSecret || kind == "ConfigMap" {
			c.required(kind, ref)
		}
	}
}

func (c *collector) pod(spec any) {
	c.core(kindServiceAccount, cmp.Or(text(spec, "serviceAccountName"), text(spec, "serviceAccount")))
	for _, s := range each(spec, "imagePullSecrets") {
		c.secret(text(s, "name"))
	}
	for _, field := range []string{"initContainers", "containers"} {
		for _, container := range each(spec, field) {
			c.environment(container)
		}
	}
	for _, v := range each(spec, "volumes") {
		c.volume(v)
	}
}

func (c *collector) environment(of any) {
	for _, variable := range each(of, "env") {
		c.valueFrom(variable)
	}
	for _, all := range each(of, "envFrom") {
		c.required(kindSecret, at(all, "secretRef"))
		c.required("ConfigMap", at(all, "configMapRef"))
	}
}

func (c *collector) valueFrom(variable any) {
	c.required(kindSecret, at(variable, "valueFrom", "secretKeyRef"))
	c.required("ConfigMap", at(variable, "valueFrom", "configMapKeyRef"))
}

func (c *collector) volume(v any) {
	c.required("ConfigMap", at(v, "configMap"))
	c.core("PersistentVolumeClaim", text(v, "persistentVolumeClaim", "claimName"))
	for _, from := range each(v, "projected", "sources") {
		c.required(kindSecret, at(from, "secret"))
		c.required("ConfigMap", at(from, "configMap"))
	}
	kinds, _ := v.(map[string]any)
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		if of := kinds[kind]; !optional(of) {
			c.secret(text(of, "secretName")) // secret and azureFile
			c.secret(text(of, "secretRef", "name"))
			c.secret(text(of, "nodePublishSecretRef", "name"))
		}
	}
}

func optional(ref any) bool { return at(ref, "optional") == true }

// required adds a reference by name, unless it is optional.
func (c *collector) required(kind string, ref any) {
	if !optional(ref) {
		c.core(kind, text(ref, "name"))
	}
}

func (c *collector) secret(name string) { c.core(kindSecret, name) }

func (c *collector) core(kind, name string) { c.add("", kind, c.namespace, name, false) }

func (c *collector) add(group, kind, namespace, name string, ready bool) {
	if kind != "" && name != "" {
		c.found = append(c.found, reference{Identity{GroupKind: schema.GroupKind{Group: group, Kind: kind}, Namespace: namespace, Name: name}, ready})
	}
}

// at returns the value at a path; nil if it does not exist.
func at(value any, names ...string) any {
	for _, name := range names {
		object, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = object[name]
	}
	return value
}

func text(value any, names ...string) string {
	out, _ := at(value, names...).(string)
	return out
}

func each(value any, names ...string) []any {
	out, _ := at(value, names...).([]any)
	return out
}
