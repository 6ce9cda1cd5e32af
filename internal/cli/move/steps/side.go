// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/yuba-dev/yuba/internal/cli/move/decide"
	"github.com/yuba-dev/yuba/internal/cli/move/shape"
	"github.com/yuba-dev/yuba/internal/gateway/content"
)

// Manager owns the fields that a move writes.
const Manager = "yuba-move"

// Side is one home.
type Side struct {
	decide.Home
	Content contents
	// KnowsMoves: its controllers respect the marks of moves. KnowsNames: those of DNS names do, too.
	KnowsMoves, KnowsNames bool
	objects                dynamic.Interface
	// files are set for a backup, which is read like a home.
	files *backupFiles
	// guard is asked before each write, if it is set.
	guard func() error
	// served are the versions in which the API serves each kind, preferred ones first; resources are
	// all namespaced resources that can be listed.
	served    map[schema.GroupKind][]string
	resources []schema.GroupVersionResource
	// applications are the application kinds that the API serves.
	applications []shape.Kind
}

// kinds are all kinds that move from there, in the order in which they are created.
func (s *Side) kinds() []shape.Kind { return slices.Concat(shape.Kinds, s.applications) }

// Connect reads what a home is.
func Connect(ctx context.Context, name string, config *rest.Config) (*Side, error) {
	config = rest.CopyConfig(config)
	config.WarningHandler = rest.NoWarnings{} // they are for people who write manifests
	s := &Side{Home: decide.Home{Name: name}, served: map[schema.GroupKind][]string{}}
	failed := func(err error) error { return fmt.Errorf("connect to %s: %w", name, err) }
	var err error
	if s.objects, err = dynamic.NewForConfig(config); err != nil {
		return nil, failed(err)
	}
	if s.Content, err = content.NewClient(config); err != nil {
		return nil, failed(err)
	}
	found, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, failed(err)
	}
	if err := s.identify(ctx); err != nil {
		return nil, failed(err)
	}
	groups, lists, err := found.ServerGroupsAndResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, failed(err)
	}
	s.learn(groups, lists)
	s.Yuba, err = s.servesContent(ctx)
	return s, err
}

// identify reads what distinguishes an API from all others for its whole life.
func (s *Side) identify(ctx context.Context) error {
	namespaces := s.objects.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	for _, name := range []string{metav1.NamespaceSystem, metav1.NamespaceDefault} {
		ns, err := namespaces.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err == nil {
			s.ID = string(ns.GetUID())
		}
		return err
	}
	return errors.New("it has neither the namespace kube-system nor default")
}

// learn notes what the API serves, in the order of preference.
func (s *Side) learn(groups []*metav1.APIGroup, lists []*metav1.APIResourceList) {
	rank := map[string]int{}
	for _, group := range groups {
		for i, v := range group.Versions {
			rank[v.GroupVersion] = i + 1
		}
		rank[group.PreferredVersion.GroupVersion] = 0
	}
	slices.SortStableFunc(lists, func(a, b *metav1.APIResourceList) int { return rank[a.GroupVersion] - rank[b.GroupVersion] })
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for _, r := range list.APIResources {
			listed := false
			for _, verb := range r.Verbs {
				listed = listed || verb == "list"
			}
			if !r.Namespaced || !listed {
				continue
			}
			kind := schema.GroupKind{Group: gv.Group, Kind: r.Kind}
			if len(s.served[kind]) == 0 {
				s.resources = append(s.resources, gv.WithResource(r.Name))
				if shape.IsApplicationGroup(gv.Group) {
					s.applications = append(s.applications, shape.Application(r.Kind, r.Name))
				}
			}
			s.served[kind] = append(s.served[kind], gv.Version)
		}
	}
}

// contentPatience limits the search for content: a home may lack it.
const contentPatience = 10 * time.Second

// servesContent reports whether Yuba runs there.
func (s *Side) servesContent(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, contentPatience)
	defer cancel()
	info, err := s.client().Server(ctx)
	s.KnowsMoves, s.KnowsNames = info.Moves, info.Moves && info.MovesNames
	if err == nil || apierrors.IsForbidden(err) {
		return true, nil
	}
	return false, nil //nolint:nilerr // a home without Yuba answers in many ways
}

// version returns the version in which both homes serve a kind; empty if there is none.
func version(k shape.Kind, from, to *Side) string {
	for _, v := range from.served[k.GK] {
		for _, w := range to.served[k.GK] {
			if v == w {
				return v
			}
		}
	}
	return ""
}

// of is the access to a kind in a namespace.
func (s *Side) of(k shape.Kind, v, namespace string) dynamic.ResourceInterface {
	return s.objects.Resource(k.GK.WithVersion(v).GroupVersion().WithResource(k.Plural)).Namespace(namespace)
}

const pageSize = 500

// list reads all objects of a kind in a namespace.
func (s *Side) list(ctx context.Context, k shape.Kind, v, namespace string) ([]unstructured.Unstructured, error) {
	if s.files != nil {
		return s.files.list(k, namespace), nil
	}
	var all []unstructured.Unstructured
	for next := ""; ; {
		page, err := s.of(k, v, namespace).List(ctx, metav1.ListOptions{Limit: pageSize, Continue: next})
		if apierrors.IsNotFound(err) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("list the %s of namespace %s at %s: %w", k.Plural, namespace, s.Name, err)
		}
		all = append(all, page.Items...)
		if next = page.GetContinue(); next == "" {
			return all, nil
		}
	}
}

// get reads an object; nil if it does not exist.
func (s *Side) get(ctx context.Context, k shape.Kind, v, namespace, name string) (*unstructured.Unstructured, error) {
	if s.files != nil {
		return s.files.get(k, namespace, name), nil
	}
	o, err := s.of(k, v, namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s %s/%s at %s: %w", k, namespace, name, s.Name, err)
	}
	return o, nil
}

// mayWrite fails if another process may work on the namespaces.
func (s *Side) mayWrite() error {
	if s.guard == nil {
		return nil
	}
	return s.guard()
}

func (s *Side) create(ctx context.Context, k shape.Kind, v string, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if err := s.mayWrite(); err != nil {
		return nil, err
	}
	made, err := s.of(k, v, o.GetNamespace()).Create(ctx, o, metav1.CreateOptions{FieldManager: Manager})
	if err != nil {
		return nil, fmt.Errorf("create %s %s/%s at %s: %w", k, o.GetNamespace(), o.GetName(), s.Name, err)
	}
	return made, nil
}

func (s *Side) update(ctx context.Context, k shape.Kind, v string, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if err := s.mayWrite(); err != nil {
		return nil, err
	}
	made, err := s.of(k, v, o.GetNamespace()).Update(ctx, o, metav1.UpdateOptions{FieldManager: Manager})
	if err != nil {
		return nil, fmt.Errorf("update %s %s/%s at %s: %w", k, o.GetNamespace(), o.GetName(), s.Name, err)
	}
	return made, nil
}

func (s *Side) patch(ctx context.Context, k shape.Kind, v, namespace, name string, patch []byte, subresources ...string) (*unstructured.Unstructured, error) {
	if err := s.mayWrite(); err != nil {
		return nil, err
	}
	made, err := s.of(k, v, namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: Manager}, subresources...)
	if err != nil {
		return nil, fmt.Errorf("change %s %s/%s at %s: %w", k, namespace, name, s.Name, err)
	}
	return made, nil
}

var namespaceKind = shape.Kind{GK: schema.GroupKind{Kind: "Namespace"}, Plural: "namespaces"}

// namespace reads a namespace; nil if it does not exist.
func (s *Side) namespace(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	return s.get(ctx, namespaceKind, "v1", "", name)
}
