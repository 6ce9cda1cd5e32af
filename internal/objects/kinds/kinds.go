// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/objects/ready"
)

// Options configure the access to an API.
type Options struct {
	Mapper meta.RESTMapper
	Client client.Reader
	// Metadata watches definitions; if it is nil, Changed is never called.
	Metadata metadata.Interface
	// Changed is called with the group of a new definition, a moment before it is served.
	Changed func(group string)
	// Explain returns an error of the API as it may be shown; nil changes nothing.
	Explain func(error) error
}

// Kinds are the kinds of an API. Its methods are safe for concurrent use.
type Kinds struct {
	Options
	definitions *definitions

	mu sync.Mutex
	// unserved are kinds that the API lacked when it was last asked.
	unserved map[schema.GroupVersionKind]missing
	// statusless are kinds whose objects never have a status; known are those that were checked.
	statusless, known map[schema.GroupKind]bool
}

// New returns the kinds of an API. ctx ends the watch of its definitions.
func New(ctx context.Context, o Options) *Kinds {
	k := &Kinds{Options: o, unserved: map[schema.GroupVersionKind]missing{}, statusless: map[schema.GroupKind]bool{}, known: map[schema.GroupKind]bool{}}
	if o.Metadata != nil {
		k.definitions = &definitions{base: ctx, metadata: o.Metadata, changed: o.Changed}
	}
	return k
}

func (k *Kinds) explain(err error) error {
	if k.Explain == nil {
		return err
	}
	return k.Explain(err)
}

// unservedFor is how long the answer counts that a kind is not served.
const unservedFor = 30 * time.Second

// Forget drops everything known about the kinds of a group.
func (k *Kinds) Forget(group string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	maps.DeleteFunc(k.unserved, func(gvk schema.GroupVersionKind, _ missing) bool { return gvk.Group == group })
	maps.DeleteFunc(k.known, func(kind schema.GroupKind, _ bool) bool { return kind.Group == group })
}

// missing is a kind that an API lacks, or lacks in that version.
type missing struct {
	asked time.Time
	// instead is a version in which it has the kind; empty for none.
	instead string
}

// OtherVersionError means that an API has a kind in another version only.
type OtherVersionError struct {
	gvk schema.GroupVersionKind
	// Instead is a version in which the API has the kind.
	Instead string
}

func (e *OtherVersionError) Error() string {
	return fmt.Sprintf("the kind %s is served in the version %s, and not in %s: write apiVersion: %s", e.gvk.Kind, e.Instead, e.gvk.Version,
		schema.GroupVersion{Group: e.gvk.Group, Version: e.Instead})
}

func (m missing) err(gvk schema.GroupVersionKind) error {
	if m.instead == "" {
		return nil
	}
	return &OtherVersionError{gvk, m.instead}
}

// Serves reports whether the API serves a kind, and whether its objects have no namespaces. It
// returns an *OtherVersionError for another version: such objects must not go to another cluster.
func (k *Kinds) Serves(gvk schema.GroupVersionKind, now time.Time) (served, root bool, err error) {
	k.mu.Lock()
	m, none := k.unserved[gvk]
	k.mu.Unlock()
	if none && now.Sub(m.asked) < unservedFor {
		return false, false, m.err(gvk)
	}
	mapping, err := k.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		if mapping, err = k.Mapper.RESTMapping(gvk.GroupKind()); err == nil || meta.IsNoMatchError(err) {
			return false, false, k.lacks(gvk, mapping, now)
		}
	}
	if err != nil {
		return false, false, fmt.Errorf("ask the API for the kind %s: %w", gvk.Kind, k.explain(err))
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.unserved, gvk)
	return true, mapping.Scope.Name() == meta.RESTScopeNameRoot, nil
}

// lacks records that the API lacks a kind in a version; other is another version of it, if any.
func (k *Kinds) lacks(gvk schema.GroupVersionKind, other *meta.RESTMapping, now time.Time) error {
	m := missing{asked: now}
	if other != nil {
		m.instead = other.GroupVersionKind.Version
	}
	k.mu.Lock()
	k.unserved[gvk] = m
	k.mu.Unlock()
	k.definitions.follow()
	return m.err(gvk)
}

// ServedAs returns a kind in a version that the API serves, because the recorded one may be gone.
// The error is a NoMatch if it serves none.
func (k *Kinds) ServedAs(gvk schema.GroupVersionKind) (schema.GroupVersionKind, error) {
	mapping, err := k.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		mapping, err = k.Mapper.RESTMapping(gvk.GroupKind())
	}
	if err != nil {
		return gvk, err
	}
	return mapping.GroupVersionKind, nil
}

// NotFound reports whether the API did not find a kind: the whole path, not an object in it.
func NotFound(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool { return c.Type == metav1.CauseTypeUnexpectedServerResponse })
}

// Defines reports whether the API has the definition of a kind, which it may not serve now.
func (k *Kinds) Defines(ctx context.Context, gvk schema.GroupVersionKind) bool {
	mapping, err := k.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return false
	}
	definition := &metav1.PartialObjectMetadata{}
	definition.SetGroupVersionKind(Definition)
	err = k.Client.Get(ctx, client.ObjectKey{Name: mapping.Resource.Resource + "." + gvk.Group}, definition)
	// If we may not read CRDs, treat the kind as not served.
	return err == nil || !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) && !meta.IsNoMatchError(err)
}

// Learn finds out whether objects of kinds, given with their versions, have a status, for
// [Kinds.Readiness].
func (k *Kinds) Learn(ctx context.Context, list map[schema.GroupKind]string) {
	for kind, version := range list {
		k.mu.Lock()
		known := k.known[kind]
		k.mu.Unlock()
		if known || ready.Plain(kind) || kind.Group == "" {
			continue
		}
		mapping, err := k.Mapper.RESTMapping(kind, version)
		if err != nil {
			continue
		}
		definition := &unstructured.Unstructured{}
		definition.SetGroupVersionKind(Definition)
		err = k.Client.Get(ctx, client.ObjectKey{Name: mapping.Resource.Resource + "." + kind.Group}, definition)
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) && !meta.IsNoMatchError(err) {
			_ = k.explain(err)
			continue // it will be asked again
		}
		// Without a readable definition, assume a status.
		none := err == nil && !definesStatus(definition, version)
		k.mu.Lock()
		k.known[kind], k.statusless[kind] = true, none
		k.mu.Unlock()
	}
}

// Readiness returns the readiness of an object.
func (k *Kinds) Readiness(u *unstructured.Unstructured) ready.Readiness {
	kind := u.GroupVersionKind().GroupKind()
	if ready.Plain(kind) {
		return ready.Readiness{Ready: true}
	}
	k.mu.Lock()
	statusless := k.statusless[kind]
	k.mu.Unlock()
	return ready.Of(u, statusless)
}

// definesStatus reports whether a definition's objects have a status.
func definesStatus(definition *unstructured.Unstructured, version string) bool {
	versions, _, err := unstructured.NestedSlice(definition.Object, "spec", "versions")
	if err != nil {
		return true
	}
	for _, v := range versions {
		v, ok := v.(map[string]any)
		if !ok || v["name"] != version {
			continue
		}
		if _, has, _ := unstructured.NestedMap(v, "subresources", "status"); has { //nolint:errcheck // malformed: none
			return true
		}
		if _, has, _ := unstructured.NestedMap(v, "schema", "openAPIV3Schema", "properties", "status"); has { //nolint:errcheck // malformed: none
			return true
		}
		open, _, _ := unstructured.NestedBool(v, "schema", "openAPIV3Schema", "x-kubernetes-preserve-unknown-fields") //nolint:errcheck // malformed: closed
		return open
	}
	return true
}
