// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/applications/definition"
)

// Instance is an instance, as far as it matters here.
type Instance struct {
	Kind, Namespace, Name string
	UID                   types.UID
	Labels, Annotations   map[string]string
	Spec                  map[string]any
	// Identity is the identity that the instance's namespace asks for; empty for none.
	Identity string
}

// NotAllowedError says what an instance asks for, and the definition does not allow.
type NotAllowedError struct{ Says string }

func (e *NotAllowedError) Error() string { return e.Says }

// words are what templates may contain of an instance.
func (i *Instance) words() map[string]string {
	return map[string]string{"name": i.Name, "namespace": i.Namespace, "kind": i.Kind}
}

// metadata is that of the instance's object.
func (i *Instance) metadata(d *definition.Definition) metav1.ObjectMeta {
	labels := map[string]string{}
	maps.Copy(labels, d.Labels)
	for key, value := range i.Labels {
		if name, ok := prefixed(key); ok {
			labels[name] = value
		}
	}
	labels[appv1.LabelKind], labels[appv1.LabelGroup], labels[appv1.LabelName] = i.Kind, appv1.InstanceVersion.Group, i.Name
	annotations := map[string]string{}
	for key, value := range i.Annotations {
		if name, ok := prefixed(key); ok && !ours(key) {
			annotations[name] = value
		}
	}
	if len(annotations) == 0 {
		annotations = nil
	}
	return metav1.ObjectMeta{Namespace: i.Namespace, Name: d.ObjectName(i.Name), Labels: labels, Annotations: annotations,
		OwnerReferences: []metav1.OwnerReference{{APIVersion: appv1.InstanceVersion.String(), Kind: i.Kind, Name: i.Name, UID: i.UID, Controller: new(true)}}}
}

// ours are the annotations that say something to Yuba, or to kubectl.
func ours(key string) bool {
	return key == appv1.AnnotationApprovePlan || key == appv1.AnnotationIdentity || key == appv1.AnnotationAbandon || key == appv1.AnnotationReconcile ||
		key == appv1.AnnotationResource || key == appv1.AnnotationNeeds || key == appv1.AnnotationMade || key == appv1.AnnotationStamp ||
		strings.HasPrefix(key, "kubectl.kubernetes.io/")
}

// prefixed is the name of a user's label or annotation on the object: ok is false if it would not be
// a name.
func prefixed(key string) (string, bool) {
	const longest = 253 // of the part before the slash
	name := appv1.UserPrefix + key
	before, after, slash := strings.Cut(name, "/")
	if !slash {
		return name, len(name) <= 63
	}
	return name, len(before) <= longest && after != ""
}

// complete adds the labels and annotations of a template, which the instance's own labels outrank.
func (i *Instance) complete(m *metav1.ObjectMeta, template *appv1.TemplateMetadata) {
	if template == nil {
		return
	}
	words := i.words()
	for key, value := range definition.Fill(template.Labels, words) {
		if _, has := m.Labels[key]; !has {
			m.Labels[key] = value
		}
	}
	for key, value := range definition.Fill(template.Annotations, words) {
		metav1.SetMetaDataAnnotation(m, key, value)
	}
}

// approvePlan is how plans of the instance are approved.
func (i *Instance) approvePlan(t *appv1.TerraformBackend) (appv1.ApprovePlan, error) {
	rule := t.ApprovePlan
	if rule == "" {
		rule = appv1.ApproveManual
	}
	wish := appv1.ApprovePlan(i.Annotations[appv1.AnnotationApprovePlan])
	if wish == "" || wish == rule || wish == appv1.ApproveManual || slices.Contains(t.ApprovePlanChoices, wish) {
		if wish != "" {
			rule = wish
		}
		return rule, nil
	}
	return "", &NotAllowedError{fmt.Sprintf("the annotation %s: %q is not one of the values that the definition allows: %s",
		appv1.AnnotationApprovePlan, wish, among(append([]appv1.ApprovePlan{rule, appv1.ApproveManual}, t.ApprovePlanChoices...)))}
}

// identity is the service account of the instance's runs or releases; empty for the default.
func (i *Instance) identity(set *appv1.Identity) (string, error) {
	fallback := ""
	var allowed []string
	if set != nil {
		fallback, allowed = set.Default, set.Allowed
	}
	if wish := i.Annotations[appv1.AnnotationIdentity]; wish != "" {
		if wish == fallback || slices.Contains(allowed, wish) {
			return wish, nil
		}
		return "", &NotAllowedError{fmt.Sprintf("the annotation %s: %q is not one of the service accounts that the definition allows: %s",
			appv1.AnnotationIdentity, wish, among(allowed))}
	}
	// A namespace's wish is about all kinds; those that do not know it have their default.
	if slices.Contains(allowed, i.Identity) {
		return i.Identity, nil
	}
	return fallback, nil
}

func among[T ~string](values []T) string {
	var texts []string
	for _, v := range values {
		if text := string(v); text != "" && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	if len(texts) == 0 {
		return "none"
	}
	return strings.Join(texts, ", ")
}
