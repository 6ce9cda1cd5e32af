// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// rediscover is how often the garbage collector and the quota controller look for new kinds.
const rediscover = 30 * time.Second

// Options configure the controllers.
type Options struct {
	// Config is administrator access to the API.
	Config *rest.Config
	// TokenKey is the file with the key that signs service account tokens.
	TokenKey string
	// CA is the PEM certificate that clients trust.
	CA []byte
	// TenantQuota limits the objects in a namespace that a Tenant created, if the namespace has no
	// quota of its own. Empty means no limits.
	TenantQuota corev1.ResourceList
}

// Set is a set of running controllers.
type Set struct {
	stop context.CancelFunc
	done sync.WaitGroup
}

// environment is shared by the controllers.
type environment struct {
	Options
	client   *kubernetes.Clientset
	metadata metadata.Interface
	mapper   *restmapper.DeferredDiscoveryRESTMapper
	// objects caches whole objects of small kinds. metas caches identity and owners of all kinds.
	objects informers.SharedInformerFactory
	metas   metaInformers
	// tokenSecrets and rootCAs cache only token Secrets and root certificate ConfigMaps.
	tokenSecrets informers.SharedInformerFactory
	rootCAs      informers.SharedInformerFactory
	started      chan struct{}
}

// runner runs one controller until the context ends.
type runner func(context.Context)

// table lists the controllers. The order does not matter: each waits for what it needs.
var table = []struct {
	name string
	make func(context.Context, *environment) (runner, error)
}{
	{"garbage collector", newGarbageCollector},
	{"namespace", newNamespace},
	{"resource quota", newResourceQuota},
	{"tenants' quota", newTenantQuota},
	{"service account", newServiceAccount},
	{"service account token", newServiceAccountToken},
	{"root certificate", newRootCertificate},
	{"cluster role aggregation", newClusterRoleAggregation},
}

// Start starts all controllers. Discovery must be complete: the garbage collector may treat owners
// of kinds that it does not discover as deleted.
func Start(ctx context.Context, options Options) (*Set, error) {
	e, err := newEnvironment(options)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	set := &Set{stop: stop}
	for _, controller := range table {
		run, err := controller.make(ctx, e)
		if err != nil {
			set.Stop()
			return nil, fmt.Errorf("start the %s controller: %w", controller.name, err)
		}
		set.done.Go(func() { run(ctx) })
	}
	for _, factory := range []informers.SharedInformerFactory{e.objects, e.tokenSecrets, e.rootCAs} {
		factory.Start(ctx.Done())
	}
	e.metas.Start(ctx.Done())
	close(e.started)
	return set, nil
}

// Stop stops all controllers and returns when they have ended.
func (s *Set) Stop() {
	s.stop()
	s.done.Wait()
}

func newEnvironment(options Options) (*environment, error) {
	client, err := kubernetes.NewForConfig(options.Config)
	if err != nil {
		return nil, fmt.Errorf("create the controllers' client: %w", err)
	}
	metadataClient, err := metadata.NewForConfig(options.Config)
	if err != nil {
		return nil, fmt.Errorf("create the controllers' metadata client: %w", err)
	}
	only := func(selector string) informers.SharedInformerFactory {
		return informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(withoutManagedFields),
			informers.WithTweakListOptions(func(list *metav1.ListOptions) { list.FieldSelector = selector }))
	}
	return &environment{
		Options:      options,
		client:       client,
		metadata:     metadataClient,
		mapper:       restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery())),
		objects:      informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(withoutManagedFields)),
		metas:        metaInformers{metadatainformer.NewSharedInformerFactoryWithOptions(metadataClient, 0, metadatainformer.WithTransform(onlyIdentity))},
		tokenSecrets: only("type=kubernetes.io/service-account-token"),
		rootCAs:      only("metadata.name=kube-root-ca.crt"),
		started:      make(chan struct{}),
	}, nil
}

// onlyIdentity drops the fields that neither garbage collection nor quota counting needs.
func onlyIdentity(object any) (any, error) {
	if accessor, err := meta.Accessor(object); err == nil {
		accessor.SetManagedFields(nil)
		accessor.SetLabels(nil)
		accessor.SetAnnotations(nil)
	}
	return object, nil
}

func withoutManagedFields(object any) (any, error) {
	if accessor, err := meta.Accessor(object); err == nil {
		accessor.SetManagedFields(nil)
	}
	return object, nil
}
