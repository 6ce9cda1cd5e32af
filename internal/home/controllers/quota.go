// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	quota "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	"k8s.io/kubernetes/pkg/controller/resourcequota"
	quotainstall "k8s.io/kubernetes/pkg/quota/v1/install"
)

// resyncQuota is how often usage is recounted from scratch.
const resyncQuota = 5 * time.Minute

// definitions are those of kinds.
var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// newResourceQuota counts what quotas limit. Only object counts can be limited, because nothing
// runs here: built-in kinds by their own name, all others as count/<resource>.<group>.
func newResourceQuota(ctx context.Context, e *environment) (runner, error) {
	quotas, registry := &tappedQuotas{ResourceQuotaInformer: e.objects.Core().V1().ResourceQuotas()}, generic.NewRegistry(evaluators(e))
	discover := e.client.Discovery().ServerPreferredNamespacedResources
	controller, err := resourcequota.NewController(ctx, &resourcequota.ControllerOptions{
		QuotaClient:               e.client.CoreV1(),
		ResourceQuotaInformer:     quotas,
		ResyncPeriod:              func() time.Duration { return resyncQuota },
		Registry:                  registry,
		DiscoveryFunc:             discover,
		IgnoredResourcesFunc:      quotainstall.DefaultIgnoredResources,
		InformersStarted:          e.started,
		InformerFactory:           e.metas,
		ReplenishmentResyncPeriod: func() time.Duration { return 0 },
		// An update never changes the number of objects.
		UpdateFilter: func(schema.GroupVersionResource, any, any) bool { return false },
	})
	if err != nil {
		return nil, err
	}
	kinds := &kindWatch{registry: registry, discover: discover, quotas: quotas, ignored: quotainstall.DefaultIgnoredResources(),
		sync:  func(ctx context.Context) { controller.Sync(ctx, discover, rediscover) },
		kinds: e.metas.SharedInformerFactory.ForResource(definitions).Informer()}
	return func(ctx context.Context) {
		var both sync.WaitGroup
		both.Go(func() { controller.Run(ctx, 2) })
		both.Go(func() { kinds.run(ctx) })
		both.Wait()
	}, nil
}

// evaluators count the kinds that have a short name in quotas.
func evaluators(e *environment) []quota.Evaluator {
	list := generic.ListerFuncForResourceFunc(e.metas.ForResource)
	var all []quota.Evaluator
	for _, name := range []corev1.ResourceName{corev1.ResourceSecrets, corev1.ResourceConfigMaps, corev1.ResourceQuotas} {
		resource := corev1.SchemeGroupVersion.WithResource(string(name))
		all = append(all, generic.NewObjectCountEvaluator(resource.GroupResource(),
			generic.ListResourceUsingListerFunc(list, resource), name))
	}
	return all
}
