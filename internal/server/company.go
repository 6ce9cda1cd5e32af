// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package server

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

	"github.com/yuba-dev/yuba/internal/content"
)

// The Lease by which Yuba's controllers know of each other, in content.ConfigMapNamespace. A holder that is gone is
// outlived after companyLease; one that starts again on its own data directory is the same holder and goes on at once.
const (
	companyName  = "yuba-controller"
	companyLease = 60 * time.Second
	companyRenew = 40 * time.Second
	companyRetry = 10 * time.Second
)

// takeAPI makes this process the one Yuba that works on the API, or says who is. The context it returns ends when the
// Lease is lost: what another one has taken over must be left alone.
func takeAPI(ctx context.Context, config *rest.Config, c client.Client, identity string) (context.Context, error) {
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make the API's client: %w", err)
	}
	if api.RESTClient().Get().AbsPath(content.PathPrefix+"/server").Do(ctx).Error() == nil {
		return nil, fmt.Errorf("%s is the API of a running `yuba up`, which works on its stacks itself", config.Host)
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: content.ConfigMapNamespace}}
	if err := c.Create(ctx, ns); err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("make the namespace %s: %w", ns.Name, err)
	}
	if err := refuseSibling(ctx, c, identity, time.Now()); err != nil {
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
				lost(fmt.Errorf("the Lease %s/%s was lost: the API did not answer for %s, or another Yuba took it", content.ConfigMapNamespace, companyName, companyRenew))
			},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("prepare the Lease %s: %w", companyName, err)
	}
	go elector.Run(ctx)
	return held, nil
}

// refuseSibling says who else holds the Lease and is alive.
func refuseSibling(ctx context.Context, c client.Client, identity string, now time.Time) error {
	var l coordinationv1.Lease
	err := c.Get(ctx, client.ObjectKey{Namespace: content.ConfigMapNamespace, Name: companyName}, &l)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for another Yuba on this API: %w", err)
	}
	holder := l.Spec.HolderIdentity
	if holder == nil || *holder == "" || *holder == identity || l.Spec.RenewTime == nil || now.After(l.Spec.RenewTime.Add(companyLease)) {
		return nil
	}
	return fmt.Errorf("another Yuba works on this API: %s (Lease %s/%s renewed %s ago). Stop that one first; if it is gone, its Lease runs out %s after that",
		*holder, l.Namespace, l.Name, now.Sub(l.Spec.RenewTime.Time).Round(time.Second), companyLease)
}
