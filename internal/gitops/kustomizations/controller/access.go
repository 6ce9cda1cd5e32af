// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/apply"
	"github.com/yuba-dev/yuba/internal/objects/clusters"
)

// ways leads to the APIs that objects are applied to.
type ways struct {
	config *rest.Config
	scheme *runtime.Scheme
	mapper apimeta.RESTMapper
	watch  *apply.Watch
	// own has all rights.
	own client.Client

	mu sync.Mutex
	// accounts are clients for service accounts of our own API, remotes those for other clusters.
	accounts map[types.NamespacedName]client.Client
	remotes  map[string]*apply.Cluster
	// away holds a token for each pass over a remote cluster: those that answer slowly must not keep the others waiting.
	away chan struct{}
}

// maxRemotes is how many passes are made over remote clusters at a time.
const maxRemotes = workers / 2

// maxKept is how many clients are kept; they are made anew when they are needed.
const maxKept = 128

func newWays(config *rest.Config, scheme *runtime.Scheme, mapper apimeta.RESTMapper) (*ways, error) {
	own, err := client.New(config, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("make the API's client: %w", err)
	}
	return &ways{config: config, scheme: scheme, mapper: mapper, own: own, accounts: map[types.NamespacedName]client.Client{},
		remotes: map[string]*apply.Cluster{}, away: make(chan struct{}, maxRemotes)}, nil
}

// busyError says that enough passes are under way over remote clusters.
type busyError struct{}

func (busyError) Error() string { return "as many remote clusters are asked as may be at a time" }

// busyPause is how soon a pass is tried again that found too many under way.
const busyPause = time.Second

// missingError says that there is nobody to act for, or no way to the cluster.
type missingError struct{ message string }

func (e *missingError) Error() string { return e.message }

// accountOf is the service account that a Kustomization acts for; empty when it has all rights.
func (r *Reconciler) accountOf(obj *kustomizev1.Kustomization) string {
	return cmp.Or(obj.Spec.ServiceAccountName, r.DefaultServiceAccount)
}

// cluster returns the way to the Kustomization's API, and what gives it back.
func (r *Reconciler) cluster(ctx context.Context, obj *kustomizev1.Kustomization) (*apply.Cluster, func(), error) {
	account := types.NamespacedName{Namespace: obj.Namespace, Name: r.accountOf(obj)}
	if obj.Spec.KubeConfig != nil {
		return r.remote(ctx, obj, account)
	}
	c := &apply.Cluster{Client: r.clusters.own, Own: r.clusters.own, Mapper: r.clusters.mapper, Watch: r.clusters.watch}
	if account.Name == "" {
		return c, func() {}, nil
	}
	var sa corev1.ServiceAccount
	err := r.Reader.Get(ctx, account, &sa)
	if apierrors.IsNotFound(err) {
		return nil, nil, &missingError{fmt.Sprintf("the service account %s does not exist, for which the objects are to be applied: "+
			"make it and bind the rights to it that they need:\n    yuba kubectl create serviceaccount %s -n %s", account, account.Name, account.Namespace)}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("look for the service account %s: %w", account, err)
	}
	c.Client, err = r.clusters.as(account)
	return c, func() {}, err
}

// as returns a client with the rights of a service account.
func (c *ways) as(account types.NamespacedName) (client.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.accounts[account]; known != nil {
		return known, nil
	}
	made, err := client.New(impersonate(c.config, account), client.Options{Scheme: c.scheme, Mapper: c.mapper})
	if err != nil {
		return nil, fmt.Errorf("make a client for the service account %s: %w", account, err)
	}
	if len(c.accounts) >= maxKept {
		clear(c.accounts)
	}
	c.accounts[account] = made
	return made, nil
}

func impersonate(config *rest.Config, account types.NamespacedName) *rest.Config {
	config = rest.CopyConfig(config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:" + account.Namespace + ":" + account.Name}
	return config
}

// remote returns the way to the cluster that the Kustomization's kubeconfig names.
func (r *Reconciler) remote(ctx context.Context, obj *kustomizev1.Kustomization, account types.NamespacedName) (*apply.Cluster, func(), error) {
	ref := obj.Spec.KubeConfig.SecretRef
	if ref == nil {
		return nil, nil, &missingError{"spec.kubeConfig names no Secret"}
	}
	var secret corev1.Secret
	name := types.NamespacedName{Namespace: obj.Namespace, Name: ref.Name}
	err := r.Reader.Get(ctx, name, &secret)
	if apierrors.IsNotFound(err) {
		return nil, nil, &missingError{fmt.Sprintf("the Secret %s does not exist, which spec.kubeConfig names", name)}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the Secret %s that spec.kubeConfig names: %w", name, err)
	}
	content, err := clusters.Kubeconfig(&secret, ref.Key)
	if err != nil {
		return nil, nil, &missingError{err.Error()}
	}
	select {
	case r.clusters.away <- struct{}{}:
	default:
		return nil, nil, busyError{}
	}
	done := func() { <-r.clusters.away }
	c, err := r.clusters.to(name, string(secret.UID)+secret.ResourceVersion+ref.Key, content, account)
	if err != nil {
		done()
		return nil, nil, fmt.Errorf("reach the cluster of the Secret %s: %w", name, err)
	}
	return c, done, nil
}

func (c *ways) to(secret types.NamespacedName, version string, content []byte, account types.NamespacedName) (*apply.Cluster, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := secret.String() + " " + version + " " + account.Name
	if known := c.remotes[key]; known != nil {
		return known, nil
	}
	config, err := clusters.Config(content)
	if err != nil {
		return nil, err
	}
	host := config.Host
	if account.Name != "" {
		config = impersonate(config, account)
	}
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	mapper, err := apiutil.NewDynamicRESTMapper(config, httpClient)
	if err != nil {
		return nil, err
	}
	made, err := client.New(config, client.Options{Scheme: c.scheme, Mapper: mapper, HTTPClient: httpClient})
	if err != nil {
		return nil, err
	}
	if len(c.remotes) >= maxKept {
		clear(c.remotes)
	}
	c.remotes[key] = &apply.Cluster{Name: host, Client: made, Mapper: mapper}
	return c.remotes[key], nil
}
