// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

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
)

// object is one object of any of the kinds, with what their statuses have in common. What is answered to programs is the
// object as the API gave it, so that nothing is lost of what other versions of the kind have.
type object struct {
	*unstructured.Unstructured
	kind   kind
	Spec   objectSpec
	Status objectStatus
	// cells is the object's row in the API's table, by the names of the columns; nil when that was not asked for.
	cells map[string]string
}

// objectSpec is what the specs of the kinds have in common, as far as commands show it.
type objectSpec struct {
	Suspend   bool          `json:"suspend,omitempty"`
	Prune     bool          `json:"prune,omitempty"`
	Path      string        `json:"path,omitempty"`
	SourceRef *objectSource `json:"sourceRef,omitempty"`
	Outputs   *struct {
		Name string `json:"name"`
	} `json:"writeOutputsToSecret,omitempty"`
	// KubeConfig is set when what is applied goes to another cluster.
	KubeConfig map[string]any `json:"kubeConfig,omitempty"`
	// Mode is a circuit breaker's.
	Mode string `json:"mode,omitempty"`
}

type objectSource struct {
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	Namespace string `json:"namespace,omitempty"`
}

// objectStatus is what the statuses of the kinds have in common.
type objectStatus struct {
	ObservedGeneration     int64              `json:"observedGeneration,omitempty"`
	Conditions             []metav1.Condition `json:"conditions,omitempty"`
	LastHandledReconcileAt string             `json:"lastHandledReconcileAt,omitempty"`
	LastAppliedRevision    string             `json:"lastAppliedRevision,omitempty"`
	LastAttemptedRevision  string             `json:"lastAttemptedRevision,omitempty"`
	Artifact               *objectArtifact    `json:"artifact,omitempty"`
	Inventory              *objectInventory   `json:"inventory,omitempty"`
	// State, Affected and OpenedAt are a circuit breaker's.
	State    string       `json:"state,omitempty"`
	Affected int          `json:"affected,omitempty"`
	OpenedAt *metav1.Time `json:"openedAt,omitempty"`
}

type objectArtifact struct {
	Revision       string      `json:"revision"`
	Digest         string      `json:"digest,omitempty"`
	LastUpdateTime metav1.Time `json:"lastUpdateTime,omitempty"`
}

// objectInventory is a Kustomization's; a stack's has other entries.
type objectInventory struct {
	Entries []struct {
		ID      string `json:"id"`
		Version string `json:"v"`
	} `json:"entries"`
}

// object makes sense of an object of this kind.
func (k kind) object(raw *unstructured.Unstructured) (*object, error) {
	o := &object{Unstructured: raw, kind: k}
	var known struct {
		Spec   objectSpec   `json:"spec"`
		Status objectStatus `json:"status"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(k.common(raw.Object), &known); err != nil {
		return nil, fmt.Errorf("read %s %s/%s: %w", k.gvk.Kind, raw.GetNamespace(), raw.GetName(), err)
	}
	o.Spec, o.Status = known.Spec, known.Status
	raw.SetGroupVersionKind(k.gvk)
	return o, nil
}

func (o *object) key() types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// String names the object as people do: GitRepository/team-a/infra.
func (o *object) String() string { return o.kind.gvk.Kind + "/" + keyInWords(o.key()) }

// keyInWords is NAMESPACE/NAME, or NAME of what belongs to no namespace.
func keyInWords(key types.NamespacedName) string { return strings.TrimPrefix(key.String(), "/") }

// revision is the one that the object stands for now.
func (o *object) revision() string {
	if o.kind.source {
		if o.Status.Artifact != nil {
			return o.Status.Artifact.Revision
		}
		return ""
	}
	return o.Status.LastAppliedRevision
}

func (o *object) condition(name string) metav1.Condition {
	if c := apimeta.FindStatusCondition(o.Status.Conditions, name); c != nil {
		return *c
	}
	return metav1.Condition{Type: name, Status: metav1.ConditionUnknown}
}

// ready is the condition that sums an object up; it is empty for kinds that have no status.
func (o *object) ready() metav1.Condition {
	switch {
	case !o.kind.reports:
		return metav1.Condition{}
	case o.kind.gvk == tenantTemplates.gvk:
		return o.templateReady()
	}
	return o.condition(infrav1.ConditionReady)
}

// message says how the object stands.
func (o *object) message() string {
	if o.kind.gvk == stackKind {
		var t infrav1.Terraform
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &t); err == nil {
			return stateInWords(&t)
		}
	}
	c := o.ready()
	if held := o.condition(tenantv1.ConditionHeld); o.kind.gvk == tenantRegistries.gvk && held.Status == metav1.ConditionTrue {
		return held.Message
	}
	if c.Message == "" && c.Status == metav1.ConditionUnknown {
		return "No server has looked at it yet."
	}
	return c.Message
}

// shortMessage is what a table has room for.
func (o *object) shortMessage() string {
	message := o.message()
	switch {
	case o.kind.gvk == stackKind:
		return cmp.Or(o.text("status", "summary"), message)
	case o.Spec.Suspend && message != "":
		return "Suspended; " + message
	case o.Spec.Suspend:
		return "Suspended"
	}
	return message
}

// fullName is what -o name prints, as kubectl does.
func (o *object) fullName() string {
	return o.kind.singular() + "." + o.kind.gvk.Group + "/" + o.GetName()
}

// getObject reads one object; one that does not exist is an error with the exit code for it.
func (s *session) getObject(ctx context.Context, k kind, key types.NamespacedName) (*object, error) {
	raw := k.empty()
	if err := s.objects.Get(ctx, key, raw); err != nil {
		return nil, s.objectError("get", k, key, err)
	}
	return k.object(raw)
}

// listObjects reads all objects of a kind in a namespace, or in all when it is empty, and says which version of the list it
// is, for a watch.
func (s *session) listObjects(ctx context.Context, k kind, namespace string, options ...client.ListOption) ([]*object, string, error) {
	list := k.emptyList()
	if err := s.objects.List(ctx, list, append(options, client.InNamespace(namespace))...); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, "", &unservedError{k}
		}
		return nil, "", fmt.Errorf("list %s: %w", k.plural, err)
	}
	objects := make([]*object, 0, len(list.Items))
	for i := range list.Items {
		o, err := k.object(&list.Items[i])
		if err != nil {
			return nil, "", err
		}
		objects = append(objects, o)
	}
	return objects, list.GetResourceVersion(), nil
}

// patchObject changes an object as change says.
func (s *session) patchObject(ctx context.Context, action string, k kind, key types.NamespacedName, c change) (*object, error) {
	data, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("%s %s %s: %w", action, k.gvk.Kind, key, err)
	}
	raw := k.empty()
	raw.SetNamespace(key.Namespace)
	raw.SetName(key.Name)
	if err := s.objects.Patch(ctx, raw, client.RawPatch(types.MergePatchType, data), fieldOwner); err != nil {
		return nil, s.objectError(action, k, key, err)
	}
	return k.object(raw)
}

// awaitObject watches an object until it is what is waited for, and returns it; nil when it is gone.
func (s *session) awaitObject(ctx context.Context, k kind, key types.NamespacedName, judge func(*object) verdict) (*object, error) {
	var seen *object
	var broken error
	w := waiter{session: s, key: key, empty: func() client.Object { return k.empty() }, list: func() client.ObjectList { return k.emptyList() },
		judge: func(o client.Object) verdict {
			raw, ok := o.(*unstructured.Unstructured)
			if !ok {
				return notYet
			}
			if seen, broken = k.object(raw); broken != nil {
				return done
			}
			return judge(seen)
		}}
	found, err := w.wait(ctx)
	switch {
	case err != nil || broken != nil:
		return nil, cmp.Or(err, broken)
	case found == nil:
		return nil, nil
	}
	return seen, nil
}

// objectError says what was tried on which object, and where its name may be found.
func (s *session) objectError(action string, k kind, key types.NamespacedName, err error) error {
	if k.gvk == stackKind {
		return s.stackError(action, key, err)
	}
	name, where := keyInWords(key), ""
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("%s %s %s: %w", action, k.gvk.Kind, name, err)
	}
	if !k.clusterWide {
		where = " -n " + key.Namespace
	}
	return exitf(exitNotFound, "%s %s %s: there is no such %s. See which ones there are:\n    yuba get %s%s", action, k.gvk.Kind, name, k.gvk.Kind, k.plural, where)
}

// unservedError says that an API does not know a kind at all.
type unservedError struct{ kind kind }

func (e *unservedError) Error() string {
	where := "a cluster does where Flux is installed"
	if group := e.kind.gvk.Group; group == yubav1.GroupVersion.Group || group == tenantv1.GroupVersion.Group {
		where = "a cluster does when it was given config/crd"
	}
	return fmt.Sprintf("list %s: this API has no kind %s.%s. \"yuba up\" serves it; %s", e.kind.plural, e.kind.gvk.Kind, e.kind.gvk.Group, where)
}

func (k kind) empty() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(k.gvk)
	return u
}

func (k kind) emptyList() *unstructured.UnstructuredList {
	u := &unstructured.UnstructuredList{}
	gvk := k.gvk
	gvk.Kind += "List"
	u.SetGroupVersionKind(gvk)
	return u
}

// keys reads NAME or NAMESPACE/NAME of each argument.
func (s *session) keys(cmd *cobra.Command, k kind, args []string) ([]types.NamespacedName, error) {
	keys := make([]types.NamespacedName, 0, len(args))
	for _, argument := range args {
		key, err := s.stack(cmd, argument)
		if err != nil {
			return nil, usageErrorf(cmd, "%q is not the name of %s: want NAME or NAMESPACE/NAME", argument, k.one())
		}
		if k.clusterWide {
			key.Namespace = ""
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// sourceKey is what the object names as its source.
func (o *object) sourceKey() types.NamespacedName {
	ref := o.Spec.SourceRef
	return types.NamespacedName{Namespace: cmp.Or(ref.Namespace, o.GetNamespace()), Name: ref.Name}
}

// applied is how many objects a Kustomization keeps an account of.
func (o *object) applied() int {
	if o.Status.Inventory == nil {
		return 0
	}
	return len(o.Status.Inventory.Entries)
}

// deleteThis deletes the very object that was looked at, not one that took its name.
func (s *session) deleteThis(ctx context.Context, o *object) error {
	uid := o.GetUID()
	err := s.objects.Delete(ctx, o.Unstructured, client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if err != nil {
		return s.objectError("delete", o.kind, o.key(), err)
	}
	return nil
}
