// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

// TenantQuotaName is the name of the quota that a tenant's namespace gets if it has none.
const TenantQuotaName = "tenant-default"

// labelDefaultQuota marks the quotas that this controller created. A quota of the same name without
// it belongs to a person.
const labelDefaultQuota = "yuba.dev/default-quota"

// tenantQuota creates a quota in each namespace that a Tenant made, unless the namespace has one.
// It never changes an existing quota, so people can edit it or add one.
type tenantQuota struct {
	*environment
	namespaces corelisters.NamespaceLister
	quotas     corelisters.ResourceQuotaLister
	queue      workqueue.TypedRateLimitingInterface[string]
	synced     []cache.InformerSynced
}

// newTenantQuota does nothing if no default quota is configured.
func newTenantQuota(_ context.Context, e *environment) (runner, error) {
	if len(e.TenantQuota) == 0 {
		return func(context.Context) {}, nil
	}
	core := e.objects.Core().V1()
	q := &tenantQuota{
		environment: e, namespaces: core.Namespaces().Lister(), quotas: core.ResourceQuotas().Lister(),
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](100*time.Millisecond, time.Minute)),
	}
	watch := func(informer cache.SharedIndexInformer, name func(metav1.Object) string) error {
		add := func(object any) {
			if known, ok := object.(metav1.Object); ok {
				q.queue.Add(name(known))
			}
		}
		registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: func(_, now any) { add(now) },
			DeleteFunc: func(object any) {
				if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
					object = unknown.Obj
				}
				add(object)
			}})
		if err == nil {
			q.synced = append(q.synced, registration.HasSynced)
		}
		return err
	}
	if err := watch(core.Namespaces().Informer(), metav1.Object.GetName); err != nil {
		return nil, err
	}
	return q.run, watch(core.ResourceQuotas().Informer(), metav1.Object.GetNamespace)
}

func (q *tenantQuota) run(ctx context.Context) {
	if !cache.WaitForCacheSync(ctx.Done(), q.synced...) {
		return
	}
	stop := context.AfterFunc(ctx, q.queue.ShutDown)
	defer stop()
	for {
		name, ended := q.queue.Get()
		if ended {
			return
		}
		if err := q.keep(ctx, name); err != nil {
			klog.FromContext(ctx).Error(err, "Create the default quota of a tenant's namespace", "namespace", name)
			q.queue.AddRateLimited(name)
		} else {
			q.queue.Forget(name)
		}
		q.queue.Done(name)
	}
}

// keep creates the quota if the namespace has none, and removes it once there is another one.
func (q *tenantQuota) keep(ctx context.Context, name string) error {
	namespace, err := q.namespaces.Get(name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the namespace %s: %w", name, err)
	}
	if namespace.Labels[tenantv1.LabelTenant] == "" || namespace.DeletionTimestamp != nil {
		return nil
	}
	quotas, err := q.quotas.ResourceQuotas(name).List(labels.Everything())
	if err != nil {
		return fmt.Errorf("list the quotas of %s: %w", name, err)
	}
	client := q.client.CoreV1().ResourceQuotas(name)
	switch ours, others := sides(quotas); {
	case others && ours != nil:
		err = client.Delete(ctx, ours.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &ours.UID}})
	case !others && ours == nil:
		_, err = client.Create(ctx, &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Name: TenantQuotaName, Labels: map[string]string{labelDefaultQuota: "true"}},
			Spec:       corev1.ResourceQuotaSpec{Hard: q.TenantQuota}}, metav1.CreateOptions{})
	}
	if apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return nil
	}
	return err
}

// sides returns the quota created here, nil for none, and whether there is one of a person.
func sides(quotas []*corev1.ResourceQuota) (ours *corev1.ResourceQuota, others bool) {
	for _, quota := range quotas {
		if quota.Name == TenantQuotaName && quota.Labels[labelDefaultQuota] != "" {
			ours = quota
		} else {
			others = true
		}
	}
	return ours, others
}
