// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/gateway/content"
)

// companyName is the Lease that only one Yuba of an API holds, in content.ConfigMapNamespace. A holder
// that restarts under the same identity continues at once.
const companyName = "yuba-controller"

// annotationAddress is the host at which replicas reach the holder of the Lease.
const annotationAddress = "yuba.dev/address"

// tenure is how long a dead holder keeps the Lease, and how often a living one renews it.
type tenure struct{ lease, renew, retry time.Duration }

var (
	// alone is for a server whose place nobody takes: an API that is away for a while does not end
	// it.
	alone = tenure{60 * time.Second, 40 * time.Second, 10 * time.Second}
	// replicated is for replicas, one of which takes over.
	replicated = tenure{15 * time.Second, 10 * time.Second, 2 * time.Second}
)

// candidate is a process that acquires the Lease.
type candidate struct {
	identity string
	// address is that of annotationAddress; empty for none.
	address string
	tenure  tenure
}

// takeAPI acquires the API's Lease for this process. If another process holds it, it says which, or,
// with waiting, waits for its end and calls waiting again and again. The returned context ends when
// the Lease is lost: another Yuba may work on the objects from then on. release ends the Lease, once
// this process does not work on them any more.
func takeAPI(ctx context.Context, config *rest.Config, c client.Client, me candidate, waiting func(holder *coordinationv1.Lease)) (held context.Context, release func(), err error) {
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("create the API's client: %w", err)
	}
	if api.RESTClient().Get().AbsPath(content.PathPrefix+"/server").Do(ctx).Error() == nil {
		itself, err := servesContentItself(ctx, c)
		if err != nil {
			return nil, nil, err
		}
		if itself {
			return nil, nil, fmt.Errorf("%s is the API of a running `yuba up`, which reconciles its stacks itself", config.Host)
		}
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: content.ConfigMapNamespace}}
	if err := c.Create(ctx, ns); err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, nil, fmt.Errorf("create the namespace %s: %w", ns.Name, err)
	}
	if err := awaitAPI(ctx, c, me, waiting); err != nil {
		return nil, nil, err
	}
	held, lost := context.WithCancelCause(ctx)
	// A stopping process keeps the Lease until it has stopped.
	electing, stop := context.WithCancel(context.WithoutCancel(ctx))
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{LeaseMeta: metav1.ObjectMeta{Namespace: content.ConfigMapNamespace, Name: companyName},
			Client: api.CoordinationV1(), LockConfig: resourcelock.ResourceLockConfig{Identity: me.identity}},
		LeaseDuration: me.tenure.lease, RenewDeadline: me.tenure.renew, RetryPeriod: me.tenure.retry, ReleaseOnCancel: true, Name: companyName,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) {},
			OnStoppedLeading: func() {
				lost(fmt.Errorf("the Lease %s/%s was lost: the API did not respond for %s, or another Yuba took it", content.ConfigMapNamespace, companyName, me.tenure.renew))
			},
		},
	})
	if err != nil {
		stop()
		return nil, nil, fmt.Errorf("prepare the Lease %s: %w", companyName, err)
	}
	var running sync.WaitGroup
	running.Go(func() { elector.Run(electing) })
	return held, func() { stop(); running.Wait() }, nil
}

// awaitAPI acquires the Lease, and waits for it if it may.
func awaitAPI(ctx context.Context, c client.Client, me candidate, waiting func(holder *coordinationv1.Lease)) error {
	for {
		err := claimAPI(ctx, c, me, time.Now())
		var held *heldError
		if waiting == nil || !errors.As(err, &held) {
			return err
		}
		waiting(held.lease)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(me.tenure.retry):
		}
	}
}

// heldError says that another living process holds the Lease.
type heldError struct {
	lease *coordinationv1.Lease
	now   time.Time
}

func (e *heldError) Error() string {
	l := e.lease
	return fmt.Sprintf("another Yuba works on this API: %s (Lease %s/%s renewed %s ago). Stop it first; if it no longer exists, its Lease expires %s after that",
		*l.Spec.HolderIdentity, l.Namespace, l.Name, e.now.Sub(l.Spec.RenewTime.Time).Round(time.Second), lifeOf(l))
}

// lifeOf is how long the Lease lasts after it was renewed.
func lifeOf(l *coordinationv1.Lease) time.Duration {
	if s := l.Spec.LeaseDurationSeconds; s != nil {
		return time.Duration(*s) * time.Second
	}
	return alone.lease
}

// claimAttempts limits retries when another process writes the Lease concurrently.
const claimAttempts = 5

// claimAPI acquires the Lease before anything else happens, or says which living process holds it.
// It writes with the version that it has read, so one of several concurrent starts wins.
func claimAPI(ctx context.Context, c client.Client, me candidate, now time.Time) error {
	for attempt := 1; ; attempt++ {
		err := tryClaim(ctx, c, me, now)
		if contested := apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err); !contested || attempt == claimAttempts {
			return err
		}
	}
}

func tryClaim(ctx context.Context, c client.Client, me candidate, now time.Time) error {
	l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: content.ConfigMapNamespace, Name: companyName}}
	err := c.Get(ctx, client.ObjectKeyFromObject(l), l)
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return fmt.Errorf("check for another Yuba on this API: %w", err)
	}
	if err := refuseSibling(l, me.identity, now); err != nil {
		return err
	}
	since := metav1.NewMicroTime(now)
	l.Spec.RenewTime = &since
	if holder := l.Spec.HolderIdentity; holder == nil || *holder != me.identity {
		changes := int32(0)
		if l.Spec.LeaseTransitions != nil {
			changes = *l.Spec.LeaseTransitions + 1
		}
		l.Spec.HolderIdentity, l.Spec.AcquireTime, l.Spec.LeaseTransitions = &me.identity, &since, &changes
	}
	l.Spec.LeaseDurationSeconds = ptr.To(int32(me.tenure.lease / time.Second))
	metav1.SetMetaDataAnnotation(&l.ObjectMeta, annotationAddress, me.address)
	if missing {
		err = c.Create(ctx, l)
	} else {
		err = c.Update(ctx, l)
	}
	if err != nil {
		return fmt.Errorf("acquire the Lease %s/%s of Yuba's controllers: %w", l.Namespace, l.Name, err)
	}
	return nil
}

// refuseSibling fails if another living process holds the Lease.
func refuseSibling(l *coordinationv1.Lease, identity string, now time.Time) error {
	holder := l.Spec.HolderIdentity
	if holder == nil || *holder == "" || *holder == identity || l.Spec.RenewTime == nil || now.After(l.Spec.RenewTime.Add(lifeOf(l))) {
		return nil
	}
	return &heldError{lease: l, now: now}
}
