// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

// definitionKind are the definitions of custom kinds.
var definitionKind = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

// definitions follows the names of the custom kinds of an API, from the first kind on that it lacks: whoever waits for a kind hears
// of it when it comes.
type definitions struct {
	// base ends it.
	base     context.Context
	metadata metadata.Interface
	changed  func(group string)
	once     sync.Once
}

// follow begins to follow them.
func (d *definitions) follow() {
	if d == nil {
		return
	}
	d.once.Do(func() {
		informer := metadatainformer.NewFilteredMetadataInformer(d.metadata, definitionKind.GroupVersion().WithResource("customresourcedefinitions"),
			metav1.NamespaceAll, 0, cache.Indexers{}, nil).Informer()
		ctx, stop := context.WithCancel(d.base)
		tell := func(o any) {
			if m, ok := o.(*metav1.PartialObjectMetadata); ok {
				_, group, _ := strings.Cut(m.Name, ".")
				d.changed(group)
			}
		}
		_, errHandler := informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
			AddFunc: func(o any, first bool) {
				if !first {
					tell(o)
				}
			},
			UpdateFunc: func(_, o any) { tell(o) },
		})
		errShrink := informer.SetTransform(func(o any) (any, error) {
			if m, ok := o.(*metav1.PartialObjectMetadata); ok {
				m.ObjectMeta = metav1.ObjectMeta{Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion}
			}
			return o, nil
		})
		errTrouble := informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
			if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
				stop() // Who may not look asks for the kinds now and then.
				return
			}
			cache.DefaultWatchErrorHandler(ctx, r, err)
		})
		if errHandler != nil || errShrink != nil || errTrouble != nil {
			stop()
			return
		}
		go informer.RunWithContext(ctx)
	})
}

// A kind is served a moment after its definition is there, and nothing tells when.
var definitionPauses = []time.Duration{0, time.Second, 5 * time.Second}

// defined hears that the definition of a custom kind is new or has changed.
func (r *Tenants) defined(c *cluster, group string) {
	for _, pause := range definitionPauses {
		time.AfterFunc(pause, func() {
			c.askAnew(group)
			r.wake(r.book.lacking(group))
			r.recheckTemplates()
		})
	}
}

// askAnew forgets what is known of the kinds of a group.
func (c *cluster) askAnew(group string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.unserved, func(gvk schema.GroupVersionKind, _ missing) bool { return gvk.Group == group })
	maps.DeleteFunc(c.known, func(kind schema.GroupKind, _ bool) bool { return kind.Group == group })
}

// missing is a kind that an API has not, or not in that version.
type missing struct {
	asked time.Time
	// instead is a version in which it has the kind; empty when it has it in none.
	instead string
}

// otherVersionError says that an API has a kind, but not in a version.
type otherVersionError struct {
	gvk     schema.GroupVersionKind
	instead string
}

func (e *otherVersionError) Error() string {
	return fmt.Sprintf("the kind %s is served in the version %s, and not in %s: write apiVersion: %s", e.gvk.Kind, e.instead, e.gvk.Version,
		schema.GroupVersion{Group: e.gvk.Group, Version: e.instead})
}

func (m missing) err(gvk schema.GroupVersionKind) error {
	if m.instead == "" {
		return nil
	}
	return &otherVersionError{gvk, m.instead}
}

// serves tells whether the API has a kind, and whether its objects have no namespaces. That it has the kind in another version only is
// an *otherVersionError: such objects must not go elsewhere.
func (c *cluster) serves(gvk schema.GroupVersionKind, now time.Time) (served, root bool, err error) {
	c.mu.Lock()
	m, none := c.unserved[gvk]
	c.mu.Unlock()
	if none && now.Sub(m.asked) < unservedFor {
		return false, false, m.err(gvk)
	}
	mapping, err := c.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		if mapping, err = c.Mapper.RESTMapping(gvk.GroupKind()); err == nil || meta.IsNoMatchError(err) {
			return false, false, c.lacks(gvk, mapping, now)
		}
	}
	if err != nil {
		return false, false, fmt.Errorf("ask the API for the kind %s: %w", gvk.Kind, c.said(err))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.unserved, gvk)
	return true, mapping.Scope.Name() == meta.RESTScopeNameRoot, nil
}

// lacks takes note that the API has not a kind in a version; other is how it has it, if at all.
func (c *cluster) lacks(gvk schema.GroupVersionKind, other *meta.RESTMapping, now time.Time) error {
	m := missing{asked: now}
	if other != nil {
		m.instead = other.GroupVersionKind.Version
	}
	c.mu.Lock()
	if c.unserved == nil {
		c.unserved = map[schema.GroupVersionKind]missing{}
	}
	c.unserved[gvk] = m
	c.mu.Unlock()
	c.definitions.follow()
	return m.err(gvk)
}

// servedAs is the kind of an object of an inventory in a version that the API has: the one on record may be gone by now. The error is
// a NoMatch when the API has it in none.
func (c *cluster) servedAs(e *tenantv1.AppliedResource) (schema.GroupVersionKind, error) {
	gvk := schema.FromAPIVersionAndKind(e.APIVersion, e.Kind)
	mapping, err := c.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		mapping, err = c.Mapper.RESTMapping(gvk.GroupKind())
	}
	if err != nil {
		return gvk, err
	}
	return mapping.GroupVersionKind, nil
}

// kindNotFound tells whether it is not an object that an API has not found, but its kind: the path of it.
func kindNotFound(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool { return c.Type == metav1.CauseTypeUnexpectedServerResponse })
}

// defines tells whether an API has a custom kind, although it may not serve it in a version, or for a moment: its objects are there.
func (c *cluster) defines(ctx context.Context, gvk schema.GroupVersionKind) bool {
	mapping, err := c.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return false
	}
	definition := &metav1.PartialObjectMetadata{}
	definition.SetGroupVersionKind(definitionKind)
	err = c.Client.Get(ctx, client.ObjectKey{Name: mapping.Resource.Resource + "." + gvk.Group}, definition)
	// If we may not read CRDs, treat the kind as not served.
	return err == nil || !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) && !meta.IsNoMatchError(err)
}

// learn finds out whether objects of kinds have a status, before anything is waited for.
func (c *cluster) learn(ctx context.Context, kinds map[schema.GroupKind]string) {
	for kind, version := range kinds {
		c.mu.Lock()
		known := c.known[kind]
		c.mu.Unlock()
		if known || plainKinds[kind] || kind.Group == "" {
			continue
		}
		mapping, err := c.Mapper.RESTMapping(kind, version)
		if err != nil {
			continue
		}
		definition := &unstructured.Unstructured{}
		definition.SetGroupVersionKind(definitionKind)
		err = c.Client.Get(ctx, client.ObjectKey{Name: mapping.Resource.Resource + "." + kind.Group}, definition)
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) && !meta.IsNoMatchError(err) {
			c.hear(err)
			continue // it is asked again
		}
		// Who may not look, or finds none, takes the kind for one with a status.
		none := err == nil && !definesStatus(definition, version)
		c.mu.Lock()
		c.known[kind], c.statusless[kind] = true, none
		c.mu.Unlock()
	}
}

// definesStatus tells whether a definition's objects have a status.
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
		if _, has, _ := unstructured.NestedMap(v, "subresources", "status"); has { //nolint:errcheck // what is malformed has none
			return true
		}
		if _, has, _ := unstructured.NestedMap(v, "schema", "openAPIV3Schema", "properties", "status"); has { //nolint:errcheck // what is malformed has none
			return true
		}
		open, _, _ := unstructured.NestedBool(v, "schema", "openAPIV3Schema", "x-kubernetes-preserve-unknown-fields") //nolint:errcheck // what is malformed is closed
		return open
	}
	return true
}
