// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// Object is one object of any of the kinds, with the common fields of their specs and statuses.
// Programs get the object as the API sent it, so that fields of other versions are not lost.
type Object struct {
	*unstructured.Unstructured
	Kind   Kind
	Spec   objectSpec
	Status objectStatus
	// Cells is the object's row in the API's table, by column; nil if the table was not requested.
	Cells map[string]string
}

// objectSpec has the fields of specs that commands show.
type objectSpec struct {
	Suspend   bool                                    `json:"suspend,omitempty"`
	Prune     bool                                    `json:"prune,omitempty"`
	Path      string                                  `json:"path,omitempty"`
	SourceRef *fluxmeta.NamespacedObjectKindReference `json:"sourceRef,omitempty"`
	Outputs   *struct {
		Name string `json:"name"`
	} `json:"writeOutputsToSecret,omitempty"`
	// KubeConfig is set if objects are applied to another cluster.
	KubeConfig map[string]any `json:"kubeConfig,omitempty"`
	// Mode is a circuit breaker's.
	Mode string `json:"mode,omitempty"`
}

// objectStatus has the fields of statuses that commands show.
type objectStatus struct {
	ObservedGeneration     int64                          `json:"observedGeneration,omitempty"`
	Conditions             []metav1.Condition             `json:"conditions,omitempty"`
	LastHandledReconcileAt string                         `json:"lastHandledReconcileAt,omitempty"`
	LastAppliedRevision    string                         `json:"lastAppliedRevision,omitempty"`
	LastAttemptedRevision  string                         `json:"lastAttemptedRevision,omitempty"`
	Artifact               *fluxmeta.Artifact             `json:"artifact,omitempty"`
	Inventory              *kustomizev1.ResourceInventory `json:"inventory,omitempty"`
	// State, Affected and OpenedAt are a circuit breaker's.
	State string `json:"state,omitempty"`
	// LastTag is the last tag that a module source published.
	LastTag string `json:"lastTag,omitempty"`
	// LatestRef is the image that a policy elected, LastPushCommit the commit of an automation.
	LatestRef struct {
		Tag string `json:"tag"`
	} `json:"latestRef"`
	LastPushCommit string `json:"lastPushCommit,omitempty"`

	Affected int          `json:"affected,omitempty"`
	OpenedAt *metav1.Time `json:"openedAt,omitempty"`
}

// Object reads the common fields of an object of this kind.
func (k Kind) Object(raw *unstructured.Unstructured) (*Object, error) {
	o := &Object{Unstructured: raw, Kind: k}
	var known struct {
		Spec   objectSpec   `json:"spec"`
		Status objectStatus `json:"status"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(k.common(raw.Object), &known); err != nil {
		return nil, fmt.Errorf("read %s %s/%s: %w", k.GVK.Kind, raw.GetNamespace(), raw.GetName(), err)
	}
	o.Spec, o.Status = known.Spec, known.Status
	raw.SetGroupVersionKind(k.GVK)
	return o, nil
}

// Key is the namespace and name of the object.
func (o *Object) Key() types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// String is the object in messages: GitRepository/team-a/infra.
func (o *Object) String() string { return o.Kind.GVK.Kind + "/" + keyInWords(o.Key()) }

// keyInWords is NAMESPACE/NAME, or NAME without a namespace.
func keyInWords(key types.NamespacedName) string { return strings.TrimPrefix(key.String(), "/") }

// Revision is a source's artifact revision or last published tag, a policy's elected tag, the last pushed commit, or the
// last applied revision.
func (o *Object) Revision() string {
	switch o.Kind.GVK {
	case ModuleSources.GVK:
		return o.Status.LastTag
	case ImagePolicies.GVK:
		return o.Status.LatestRef.Tag
	case ImageUpdates.GVK:
		if o.Status.LastPushCommit != "" {
			return "sha1:" + o.Status.LastPushCommit
		}
		return ""
	}
	if o.Kind.Source {
		if o.Status.Artifact != nil {
			return o.Status.Artifact.Revision
		}
		return ""
	}
	return o.Status.LastAppliedRevision
}

// Condition is the condition of that type; Unknown if the object has none.
func (o *Object) Condition(name string) metav1.Condition {
	if c := apimeta.FindStatusCondition(o.Status.Conditions, name); c != nil {
		return *c
	}
	return metav1.Condition{Type: name, Status: metav1.ConditionUnknown}
}

// Ready is the condition that sums up an object; empty for kinds without conditions.
func (o *Object) Ready() metav1.Condition {
	switch {
	case !o.Kind.Reports:
		return metav1.Condition{}
	case o.Kind.GVK == TenantTemplates.GVK:
		return o.templateReady()
	}
	return o.Condition(infrav1.ConditionReady)
}

// Message describes the state of the object.
func (o *Object) Message() string {
	if o.Kind.GVK == StackKind {
		var t infrav1.Terraform
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &t); err == nil {
			return StateInWords(&t)
		}
	}
	c := o.Ready()
	if held := o.Condition(tenantv1.ConditionHeld); o.Kind.GVK == TenantRegistries.GVK && held.Status == metav1.ConditionTrue {
		return held.Message
	}
	if c.Message == "" && c.Status == metav1.ConditionUnknown {
		return "Not reconciled yet."
	}
	return c.Message
}

// ShortMessage is the message for tables.
func (o *Object) ShortMessage() string {
	message := o.Message()
	switch {
	case o.Kind.GVK == StackKind:
		return cmp.Or(o.Text("status", "summary"), message)
	case o.Spec.Suspend && message != "":
		return "Suspended; " + message
	case o.Spec.Suspend:
		return "Suspended"
	}
	return message
}

// FullName is the output of -o name, as of kubectl.
func (o *Object) FullName() string {
	return o.Kind.Singular() + "." + o.Kind.GVK.Group + "/" + o.GetName()
}

// GetObject reads one object. The error for a missing object has its own exit code.
func (s *Session) GetObject(ctx context.Context, k Kind, key types.NamespacedName) (*Object, error) {
	raw := k.Empty()
	if err := s.Objects.Get(ctx, key, raw); err != nil {
		return nil, s.ObjectError("get", k, key, err)
	}
	return k.Object(raw)
}

// GetAs reads one object into a Go type of its kind.
func (s *Session) GetAs(ctx context.Context, k Kind, key types.NamespacedName, into any) error {
	o, err := s.GetObject(ctx, k, key)
	if err != nil {
		return err
	}
	return o.As(into)
}

// ListObjects lists the objects of a kind in a namespace, or in all if it is empty, and returns the
// version of the list, for a watch.
func (s *Session) ListObjects(ctx context.Context, k Kind, namespace string, options ...client.ListOption) ([]*Object, string, error) {
	list := k.EmptyList()
	if err := s.Objects.List(ctx, list, append(options, client.InNamespace(namespace))...); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, "", &UnservedError{k}
		}
		return nil, "", fmt.Errorf("list %s: %w", k.Plural, err)
	}
	objects := make([]*Object, 0, len(list.Items))
	for i := range list.Items {
		o, err := k.Object(&list.Items[i])
		if err != nil {
			return nil, "", err
		}
		objects = append(objects, o)
	}
	return objects, list.GetResourceVersion(), nil
}

// PatchObject changes an object and returns the changed one.
func (s *Session) PatchObject(ctx context.Context, action string, k Kind, key types.NamespacedName, c Change) (*Object, error) {
	raw := k.Empty()
	if err := s.patch(ctx, key, c, raw); err != nil {
		return nil, s.ObjectError(action, k, key, err)
	}
	return k.Object(raw)
}

// AwaitObject watches an object until done returns true, and returns it; nil if it is deleted.
func (s *Session) AwaitObject(ctx context.Context, k Kind, key types.NamespacedName, done func(*Object) bool) (seen *Object, err error) {
	w := waiter[*unstructured.Unstructured]{Session: s, key: key, empty: k.Empty, list: k.EmptyList(),
		done: func(raw *unstructured.Unstructured) (_ bool, err error) {
			if seen, err = k.Object(raw); err != nil {
				return false, err
			}
			return done(seen), nil
		}}
	if found, err := w.wait(ctx); err != nil || found == nil {
		return nil, err
	}
	return seen, nil
}

// ObjectError returns an error with the action, the object, and how to list such objects.
func (s *Session) ObjectError(action string, k Kind, key types.NamespacedName, err error) error {
	if k.GVK == StackKind {
		return s.StackError(action, key, err)
	}
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("%s %s: %w", action, k.Named(key), err)
	}
	where := ""
	if !k.ClusterWide {
		where = " -n " + key.Namespace
	}
	return ui.Exitf(ui.ExitNotFound, "%s %s: there is no such %s. List them:\n    yuba get %s%s", action, k.Named(key), k.GVK.Kind, k.Plural, where)
}

// UnservedError reports that the API does not serve a kind.
type UnservedError struct{ Kind Kind }

func (e *UnservedError) Error() string {
	where := "in a cluster, install Flux"
	if group := e.Kind.GVK.Group; group == yubav1.GroupVersion.Group || group == tenantv1.GroupVersion.Group {
		where = "in a cluster, run \"yuba crds install\""
	}
	return fmt.Sprintf("list %s: this API does not serve the kind %s.%s. \"yuba up\" serves it; %s", e.Kind.Plural, e.Kind.GVK.Kind, e.Kind.GVK.Group, where)
}

// Empty is an object of the kind to read into.
func (k Kind) Empty() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(k.GVK)
	return u
}

// EmptyList is a list of the kind to read into.
func (k Kind) EmptyList() *unstructured.UnstructuredList {
	u := &unstructured.UnstructuredList{}
	gvk := k.GVK
	gvk.Kind += "List"
	u.SetGroupVersionKind(gvk)
	return u
}

// Keys reads NAME or NAMESPACE/NAME of each argument.
func (s *Session) Keys(cmd *cobra.Command, k Kind, args []string) ([]types.NamespacedName, error) {
	keys := make([]types.NamespacedName, 0, len(args))
	for _, argument := range args {
		key, err := s.Stack(cmd, argument)
		if err != nil {
			return nil, ui.UsageErrorf(cmd, "%q is not the name of %s: want NAME or NAMESPACE/NAME", argument, k.One())
		}
		if k.ClusterWide {
			key.Namespace = ""
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// SourceKey is the namespace and name of the object's source.
func (o *Object) SourceKey() types.NamespacedName {
	ref := o.Spec.SourceRef
	return types.NamespacedName{Namespace: cmp.Or(ref.Namespace, o.GetNamespace()), Name: ref.Name}
}

// Applied is the number of objects in a Kustomization's inventory.
func (o *Object) Applied() int {
	if o.Status.Inventory == nil {
		return 0
	}
	return len(o.Status.Inventory.Entries)
}

// DeleteThis deletes this object, but not a newer one of the same name.
func (s *Session) DeleteThis(ctx context.Context, o *Object) error {
	uid := o.GetUID()
	err := s.Objects.Delete(ctx, o.Unstructured, client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if err != nil {
		return s.ObjectError("delete", o.Kind, o.Key(), err)
	}
	return nil
}

// As decodes the object into a Go type of its kind.
func (o *Object) As(into any) error {
	data, err := json.Marshal(o.Object)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", o, err)
	}
	return nil
}

// Text returns the text in a field; empty if there is none.
func (o *Object) Text(fields ...string) string {
	text, _, _ := unstructured.NestedString(o.Object, fields...) //nolint:errcheck // a field of another type has no text
	return text
}

// Number returns the number in a field; zero if there is none.
func (o *Object) Number(fields ...string) int64 {
	n, _, _ := unstructured.NestedInt64(o.Object, fields...) //nolint:errcheck // a field of another type has no number
	return n
}

// common drops the fields of an object that have another type in other kinds.
func (k Kind) common(content map[string]any) map[string]any {
	status, is := content["status"].(map[string]any)
	if k.GVK != Tenants.GVK || !is {
		return content
	}
	content, status = maps.Clone(content), maps.Clone(status)
	delete(status, "inventory")
	content["status"] = status
	return content
}

// templateReady reports a mistake in a template, unless it is being deleted; else how many of its
// tenants are ready.
func (o *Object) templateReady() metav1.Condition {
	if valid := o.Condition(tenantv1.ConditionValid); valid.Status == metav1.ConditionFalse && o.GetDeletionTimestamp() == nil {
		return valid
	}
	return o.Condition(tenantv1.ConditionApplied)
}

// SaysOfBefore reports whether the conditions of a tenant object are from before its deletion.
func (o *Object) SaysOfBefore() bool {
	return o.Kind.GVK.Group == tenantv1.GroupVersion.Group && o.Ready().ObservedGeneration < o.GetGeneration()
}
