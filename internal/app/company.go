// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/gateway/content"
)

// The Lease that only one Yuba of an API holds, in content.ConfigMapNamespace. It expires
// companyLease after its holder dies. A holder that restarts on the same data directory continues
// at once.
const (
	companyName  = "yuba-controller"
	companyLease = 60 * time.Second
	companyRenew = 40 * time.Second
	companyRetry = 10 * time.Second
)

// takeAPI acquires the API's Lease for this process, or says who holds it. The returned context
// ends when the Lease is lost: another Yuba may work on the objects from then on.
func takeAPI(ctx context.Context, config *rest.Config, c client.Client, identity string) (context.Context, error) {
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make the API's client: %w", err)
	}
	if api.RESTClient().Get().AbsPath(content.PathPrefix+"/server").Do(ctx).Error() == nil {
		return nil, fmt.Errorf("%s is the API of a running `yuba up`, which reconciles its stacks itself", config.Host)
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: content.ConfigMapNamespace}}
	if err := c.Create(ctx, ns); err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("make the namespace %s: %w", ns.Name, err)
	}
	if err := claimAPI(ctx, c, identity, time.Now()); err != nil {
		return nil, err
	}
	held, lost := context.WithCancelCause(ctx)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{LeaseMeta: metav1.ObjectMeta{Namespace: content.ConfigMapNamespace, Name: companyName},
			Client: api.CoordinationV1(), LockConfig: resourcelock.ResourceLockConfig{Identity: identity}},
		LeaseDuration: companyLease, RenewDeadline: companyRenew, RetryPeriod: companyRetry, ReleaseOnCancel: true, Name: companyName,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) {},
			OnStoppedLeading: func() {
				lost(fmt.Errorf("the Lease %s/%s was lost: the API did not respond for %s, or another Yuba took it", content.ConfigMapNamespace, companyName, companyRenew))
			},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("prepare the Lease %s: %w", companyName, err)
	}
	go elector.Run(ctx)
	return held, nil
}

// claimAttempts limits retries when another process writes the Lease concurrently.
const claimAttempts = 5

// claimAPI acquires the Lease before anything else happens, or says which living process holds it.
// It writes with the version that it has read, so one of several concurrent starts wins.
func claimAPI(ctx context.Context, c client.Client, identity string, now time.Time) error {
	for attempt := 1; ; attempt++ {
		err := tryClaim(ctx, c, identity, now)
		if contested := apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err); !contested || attempt == claimAttempts {
			return err
		}
	}
}

func tryClaim(ctx context.Context, c client.Client, identity string, now time.Time) error {
	l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: content.ConfigMapNamespace, Name: companyName}}
	err := c.Get(ctx, client.ObjectKeyFromObject(l), l)
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return fmt.Errorf("check for another Yuba on this API: %w", err)
	}
	if err := refuseSibling(l, identity, now); err != nil {
		return err
	}
	since := metav1.NewMicroTime(now)
	l.Spec.RenewTime = &since
	if holder := l.Spec.HolderIdentity; holder == nil || *holder != identity {
		changes := int32(0)
		if l.Spec.LeaseTransitions != nil {
			changes = *l.Spec.LeaseTransitions + 1
		}
		l.Spec.HolderIdentity, l.Spec.AcquireTime, l.Spec.LeaseTransitions = &identity, &since, &changes
	}
	seconds := int32(companyLease / time.Second)
	l.Spec.LeaseDurationSeconds = &seconds
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

// refuseSibling names the living holder of the Lease.
func refuseSibling(l *coordinationv1.Lease, identity string, now time.Time) error {
	holder := l.Spec.HolderIdentity
	if holder == nil || *holder == "" || *holder == identity || l.Spec.RenewTime == nil || now.After(l.Spec.RenewTime.Add(companyLease)) {
		return nil
	}
	return fmt.Errorf("another Yuba works on this API: %s (Lease %s/%s renewed %s ago). Stop it first; if it no longer exists, its Lease expires %s after that",
		*holder, l.Namespace, l.Name, now.Sub(l.Spec.RenewTime.Time).Round(time.Second), companyLease)
}
