// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package namespaced has a client for servers that may only read some namespaces: lists of all
// namespaces become lists of those. Everything else is passed on.
package namespaced

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Client lists objects of its namespaces only.
type Client struct {
	client.Client
	Namespaces []string
}

// List lists the objects of all namespaces of the client, unless the options name one or the kind
// has none. A list of several namespaces has no pages.
func (c Client) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(options)
	within, err := c.within(list)
	if err != nil {
		return err
	}
	if o.Namespace != "" || !within {
		return c.Client.List(ctx, list, options...)
	}
	var all []runtime.Object
	for _, namespace := range c.Namespaces {
		items, err := c.all(ctx, list, o, namespace)
		if err != nil {
			return err
		}
		all = append(all, items...)
	}
	list.SetContinue("")
	if err := meta.SetList(list, all); err != nil {
		return fmt.Errorf("list objects of %d namespaces: %w", len(c.Namespaces), err)
	}
	return nil
}

// within reports whether the objects of a list are in namespaces.
func (c Client) within(list client.ObjectList) (bool, error) {
	kind, err := apiutil.GVKForObject(list, c.Scheme())
	if err != nil {
		return false, err
	}
	kind.Kind = kind.Kind[:max(0, len(kind.Kind)-len("List"))]
	return apiutil.IsGVKNamespaced(kind, c.RESTMapper())
}

// all lists the objects of one namespace, page by page.
func (c Client) all(ctx context.Context, list client.ObjectList, o client.ListOptions, namespace string) (items []runtime.Object, err error) {
	o.Namespace, o.Continue = namespace, ""
	for {
		page, ok := list.DeepCopyObject().(client.ObjectList)
		if !ok {
			return nil, fmt.Errorf("list objects of namespace %s: %T is no list", namespace, list)
		}
		if err := c.Client.List(ctx, page, &o); err != nil {
			return nil, err
		}
		some, err := meta.ExtractList(page)
		if err != nil {
			return nil, fmt.Errorf("list objects of namespace %s: %w", namespace, err)
		}
		items = append(items, some...)
		if o.Continue = page.GetContinue(); o.Continue == "" {
			return items, nil
		}
	}
}
