// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/yuba-dev/yuba/internal/objects/owned"
)

// stage is one stage of a batch.
type stage struct {
	engine  *Engine
	cluster *Cluster
	req     *Request
	report  *Report
	// defined is true when an earlier stage created definitions that the API may not serve yet.
	defined bool
	items   []*item
}

func (s *stage) policy() *Policy { return &s.engine.policy }

// run tries the objects of the stage. If the API refuses none, it changes them.
func (s *stage) run(ctx context.Context, objects []*unstructured.Unstructured) error {
	if err := s.follow(ctx, objects); err != nil {
		return err
	}
	var todo []*item
	for _, u := range objects {
		it, err := s.classify(ctx, u)
		if err != nil {
			return err
		}
		if it == nil {
			continue
		}
		s.items = append(s.items, it)
		if it.action == "" {
			todo = append(todo, it)
		}
	}
	s.findAbsent(ctx, todo)
	err := s.each(ctx, todo, s.try)
	// Create new objects first: if the API refuses one of them, no existing object has changed.
	if err == nil {
		err = s.each(ctx, filter(todo, false), s.change)
	}
	if err == nil {
		err = s.each(ctx, filter(todo, true), s.change)
	}
	for _, it := range s.items {
		if it.maybe {
			s.report.Maybe = append(s.report.Maybe, it.ref())
			continue
		}
		if it.action == "" {
			s.giveUp(it)
			continue
		}
		s.report.Outcomes = append(s.report.Outcomes, it.outcome())
	}
	return err
}

// filter lists the items that existed, or those that did not.
func filter(items []*item, existed bool) []*item {
	return slices.DeleteFunc(slices.Clone(items), func(it *item) bool { return it.existed != existed })
}

// maxErrors is how many refused objects an error names.
const maxErrors = 5

// each calls a function for all items, some at a time, and joins the errors.
func (s *stage) each(ctx context.Context, items []*item, do func(context.Context, *item) error) error {
	g := errgroup.Group{}
	g.SetLimit(s.cluster.concurrency())
	errs := make([]error, len(items))
	for i, it := range items {
		if it.action != "" {
			continue
		}
		g.Go(func() error {
			errs[i] = do(ctx, it)
			return nil
		})
	}
	_ = g.Wait()
	return joined(errs, "objects")
}

// joined joins errors, and only counts those after the first few.
func joined(errs []error, what string) error {
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if more := len(errs) - maxErrors; more > 0 {
		errs = append(errs[:maxErrors], fmt.Errorf("and %d more %s", more, what))
	}
	return errors.Join(errs...)
}

// follow watches the kinds of the stage. The error names those that the API does not serve.
func (s *stage) follow(ctx context.Context, objects []*unstructured.Unstructured) error {
	kinds := map[schema.GroupKind]string{}
	for _, u := range objects {
		kinds[u.GroupVersionKind().GroupKind()] = u.GroupVersionKind().Version
	}
	try := func() error {
		for kind, version := range kinds {
			if _, err := s.cluster.Mapper.RESTMapping(kind, version); err != nil {
				return err
			}
		}
		return nil
	}
	err := try()
	if s.defined && meta.IsNoMatchError(err) {
		ctx, cancel := context.WithTimeout(ctx, definitionTimeout)
		defer cancel()
		_ = wait.PollUntilContextCancel(ctx, pollEvery, true, func(context.Context) (bool, error) {
			err = try()
			return !meta.IsNoMatchError(err), nil
		})
	}
	if meta.IsNoMatchError(err) {
		return s.unserved(objects, err)
	}
	if err != nil {
		return fmt.Errorf("ask the API for its kinds: %w", err)
	}
	if s.cluster.Watch == nil {
		return nil
	}
	return s.cluster.Watch.Follow(ctx, s.req.Owner, kinds)
}

// unserved names the kinds that the API does not serve, each with its first object, in their order:
// each attempt has the same message.
func (s *stage) unserved(objects []*unstructured.Unstructured, err error) error {
	seen := map[schema.GroupKind]bool{}
	var errs []error
	for _, u := range objects {
		gvk := u.GroupVersionKind()
		if seen[gvk.GroupKind()] {
			continue
		}
		seen[gvk.GroupKind()] = true
		if _, err := s.cluster.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version); meta.IsNoMatchError(err) {
			errs = append(errs, fmt.Errorf("%s dry-run failed: %w", Name(owned.IDOf(u)), err))
		}
	}
	if len(errs) == 0 {
		// Meanwhile it was defined.
		return fmt.Errorf("ask the API for its kinds: %w", err)
	}
	return joined(errs, "kinds")
}

// giveUp releases the claim on an object that was not created.
func (s *stage) giveUp(it *item) {
	if it.existed {
		return
	}
	if _, had := s.req.Known[it.id]; !had {
		s.engine.owners.Freed(s.engine.claims.Release(s.cluster.Place(it.id), s.req.Owner))
	}
}
