// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"context"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
)

// Definition is the kind of definitions of custom kinds.
var Definition = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

// definitions watches the names of an API's custom kinds, so that owners that wait for a kind are
// woken when it is defined. It begins with the first kind that the API lacks.
type definitions struct {
	// base ends it.
	base     context.Context
	metadata metadata.Interface
	changed  func(group string)
	once     sync.Once
}

// follow starts the watch.
func (d *definitions) follow() {
	if d == nil {
		return
	}
	d.once.Do(func() {
		informer := metadatainformer.NewFilteredMetadataInformer(d.metadata, Definition.GroupVersion().WithResource("customresourcedefinitions"),
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
				stop() // without the right to watch, owners poll
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
