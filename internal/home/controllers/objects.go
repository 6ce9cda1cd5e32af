// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/namespace"
)

// metaInformers gives controllers that ask for informers of any kind metadata-only informers.
type metaInformers struct {
	metadatainformer.SharedInformerFactory
}

// ForResource implements informerfactory.InformerFactory.
func (f metaInformers) ForResource(resource schema.GroupVersionResource) (informers.GenericInformer, error) {
	return f.SharedInformerFactory.ForResource(resource), nil
}

// newGarbageCollector deletes objects whose owners are gone.
func newGarbageCollector(ctx context.Context, e *environment) (runner, error) {
	collector, err := garbagecollector.NewGarbageCollector(ctx, e.client, e.metadata, e.mapper,
		garbagecollector.DefaultIgnoredResources(), e.metas, e.started)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) {
		var both sync.WaitGroup
		both.Go(func() { collector.Run(ctx, 4, rediscover) })
		both.Go(func() { collector.Sync(ctx, e.client.Discovery(), rediscover) })
		both.Wait()
	}, nil
}

// newNamespace empties namespaces that are being deleted and removes their finalizer.
func newNamespace(ctx context.Context, e *environment) (runner, error) {
	controller := namespace.NewNamespaceController(ctx, e.client, e.metadata,
		e.client.Discovery().ServerPreferredNamespacedResources, e.objects.Core().V1().Namespaces(), 5*time.Minute,
		corev1.FinalizerKubernetes)
	return func(ctx context.Context) { controller.Run(ctx, 4) }, nil
}
