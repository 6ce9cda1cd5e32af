// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package passes

import (
	"context"
	"encoding/json"
	"fmt"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/moving"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

const (
	// IndexReferences finds the objects that read a Secret or ConfigMap, by its [Reference].
	IndexReferences = "yuba.tenant.references"
	// IndexRegistry finds the templates and tenants of a registry: "namespace/name".
	IndexRegistry = "yuba.tenant.registry"
	// IndexTemplate finds the tenants of a template: "namespace/name".
	IndexTemplate = "yuba.tenant.template"
)

// Index indexes the objects of a kind.
func Index(ctx context.Context, mgr ctrl.Manager, of client.Object, field string, names client.IndexerFunc) error {
	if err := mgr.GetFieldIndexer().IndexField(ctx, of, field, names); err != nil {
		return fmt.Errorf("index the kinds of tenants: %w", err)
	}
	return nil
}

// Reference names a Secret or ConfigMap in [IndexReferences].
func Reference(kind, namespace, name string) string { return kind + "/" + namespace + "/" + name }

// KubeConfigReferences are an object's references to its target's kubeconfig.
func KubeConfigReferences(namespace string, k *fluxmeta.KubeConfigReference) []string {
	if k == nil || k.SecretRef == nil {
		return nil
	}
	return []string{Reference("Secret", namespace, k.SecretRef.Name)}
}

// CreatedOrDeleted passes on creations and deletions of objects.
func CreatedOrDeleted() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			return (e.ObjectNew.GetDeletionTimestamp() == nil) != (e.ObjectOld.GetDeletionTimestamp() == nil)
		},
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// RegistryOf is the registry of a tenant; without a name if it has none.
func RegistryOf(t *tenantv1.Tenant) types.NamespacedName {
	return types.NamespacedName{Namespace: t.Namespace, Name: t.Registry()}
}

// RegistryOfTemplate is the registry of a template.
func RegistryOfTemplate(t *tenantv1.TenantTemplate) types.NamespacedName {
	return types.NamespacedName{Namespace: t.Namespace, Name: t.Spec.RegistryID}
}

// Validated reports whether the current generation of a template is valid.
func Validated(t *tenantv1.TenantTemplate) bool {
	c := conditions.Of(t, tenantv1.ConditionValid)
	return c.Status == metav1.ConditionTrue && c.ObservedGeneration == t.Generation
}

// Standing is the current state of a tenant.
type Standing struct {
	Ready, Failed, Deleting bool
	// Recorded is true if the status has an inventory.
	Recorded bool
	// Generation is the template's generation that the tenant has.
	Generation string
}

// StandingOf ignores conditions of an earlier generation.
func StandingOf(t *tenantv1.Tenant) Standing {
	s := Standing{Deleting: t.DeletionTimestamp != nil, Recorded: t.Status.ObservedGeneration > 0, Generation: t.Annotations[tenantv1.AnnotationTemplateGeneration]}
	c := conditions.Of(t, tenantv1.ConditionReady)
	if c.ObservedGeneration != t.Generation || t.Status.ObservedGeneration != t.Generation {
		return s
	}
	s.Ready = c.Status == metav1.ConditionTrue
	s.Failed = c.Status == metav1.ConditionFalse && failing[c.Reason]
	return s
}

// failing are the reasons of tenants that only a change can make ready.
var failing = map[string]bool{
	tenantv1.ReasonResourcesFailed: true, tenantv1.ReasonResourcesConflicted: true, tenantv1.ReasonResourcesFailedAndConflicted: true,
	tenantv1.ReasonVariablesBuildError: true, tenantv1.ReasonDependencyError: true, tenantv1.ReasonDependencyCycle: true,
}

const (
	// MaxUnrecorded limits the objects of a tenant whose first pass records no inventory first: a
	// larger one might not fit into the status.
	MaxUnrecorded = 100
	// maxUnrecordedBytes limits that tenant's spec for the same reason.
	maxUnrecordedBytes = 256 << 10
)

// SpecIsInventory reports whether a tenant's spec names all objects that its first pass creates.
// That pass need not record an inventory first, and the registry leaves the spec until there is a
// status. Not with a target, which may be unreachable later.
func SpecIsInventory(s *tenantv1.TenantSpec) bool {
	objects := 0
	for _, list := range s.Lists() {
		objects += len(list.Items)
	}
	if s.KubeConfig != nil || objects > MaxUnrecorded {
		return false
	}
	text, err := json.Marshal(s)
	return err == nil && len(text) <= maxUnrecordedBytes
}

const (
	// maxMessage limits messages of an API in a status.
	maxMessage = 500
	// maxCondition is the API's limit for a condition's message.
	maxCondition = 32 << 10
)

// OneLine shortens a message of an API.
func OneLine(text string) string { return shorten.Cut(shorten.Line(text), maxMessage) }

// Movable is an object that "yuba move" can mark.
type Movable interface {
	conditions.Object
	metav1.Object
}

// SetMoved says in a condition where a marked object is. A move waits for it: then no earlier pass is at work any more.
func SetMoved(obj Movable, kind string) {
	SetCondition(obj, kind, metav1.ConditionFalse, tenantv1.ReasonMoved, infrav1.TrimMessage(moving.Held(obj)))
}

// SetCondition sets a condition of an object.
func SetCondition(obj conditions.Object, kind string, status metav1.ConditionStatus, reason, message string) {
	if len(message) > maxCondition {
		message = shorten.Cut(message, maxCondition/4)
	}
	conditions.Set(obj, kind, status, reason, message)
}
