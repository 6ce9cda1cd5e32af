// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/objects/clusters"
	"github.com/yuba-dev/yuba/internal/objects/engine"
)

// ways contains the clients for the APIs to which objects are applied.
type ways struct {
	config *rest.Config
	scheme *runtime.Scheme
	mapper apimeta.RESTMapper
	watch  *engine.Watch
	// own has all rights.
	own client.Client

	// accounts has clients for our service accounts, remotes those for other clusters.
	accounts kept[types.NamespacedName, client.Client]
	remotes  kept[string, *engine.Cluster]
	// turns limits passes over remote clusters.
	turns *clusters.Turns
}

const (
	// maxRemotes is the number of concurrent passes over remote clusters.
	maxRemotes = workers / 2
	// maxKept limits the kept clients; others are created again.
	maxKept = 128
)

// kept are clients for reuse.
type kept[K comparable, V any] struct {
	mu   sync.Mutex
	made map[K]V
}

// get returns a kept client, or creates it.
func (k *kept[K, V]) get(key K, open func() (V, error)) (V, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if v, ok := k.made[key]; ok {
		return v, nil
	}
	v, err := open()
	if err != nil {
		return v, err
	}
	if k.made == nil || len(k.made) >= maxKept {
		k.made = map[K]V{}
	}
	k.made[key] = v
	return v, nil
}

func newWays(config *rest.Config, scheme *runtime.Scheme, mapper apimeta.RESTMapper) (*ways, error) {
	own, err := client.New(config, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("create the API's client: %w", err)
	}
	return &ways{config: config, scheme: scheme, mapper: mapper, own: own, turns: clusters.NewTurns(maxRemotes)}, nil
}

// busyError means that too many remote passes run. Its turn triggers another pass.
type busyError struct{}

func (busyError) Error() string { return "too many concurrent passes over remote clusters" }

// missingError is a missing service account or kubeconfig.
type missingError struct{ message string }

func (e *missingError) Error() string { return e.message }

// accountOf returns the service account of a Kustomization; empty for all rights.
func (r *Reconciler) accountOf(obj *kustomizev1.Kustomization) string {
	return cmp.Or(obj.Spec.ServiceAccountName, r.DefaultServiceAccount)
}

// cluster returns the Kustomization's API, and a function that ends its use.
func (r *Reconciler) cluster(ctx context.Context, p *pass) (*engine.Cluster, func(), error) {
	obj := p.obj
	account := types.NamespacedName{Namespace: obj.Namespace, Name: r.accountOf(obj)}
	if obj.Spec.KubeConfig != nil {
		return r.remote(ctx, p, account)
	}
	c := &engine.Cluster{Client: r.clusters.own, Own: r.clusters.own, Mapper: r.clusters.mapper, Watch: r.clusters.watch}
	if account.Name == "" {
		return c, func() {}, nil
	}
	var sa corev1.ServiceAccount
	err := r.Reader.Get(ctx, account, &sa)
	if apierrors.IsNotFound(err) {
		return nil, nil, &missingError{fmt.Sprintf("the service account %s does not exist; create it, and grant it access to the objects:\n"+
			"    yuba kubectl create serviceaccount %s -n %s", account, account.Name, account.Namespace)}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the service account %s: %w", account, err)
	}
	c.Client, err = r.clusters.as(account)
	return c, func() {}, err
}

// as returns a client with the rights of a service account.
func (c *ways) as(account types.NamespacedName) (client.Client, error) {
	return c.accounts.get(account, func() (client.Client, error) {
		made, err := client.New(impersonate(c.config, account), client.Options{Scheme: c.scheme, Mapper: c.mapper})
		if err != nil {
			return nil, fmt.Errorf("create a client for the service account %s: %w", account, err)
		}
		return made, nil
	})
}

func impersonate(config *rest.Config, account types.NamespacedName) *rest.Config {
	config = rest.CopyConfig(config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:" + account.Namespace + ":" + account.Name}
	return config
}

// remote returns the cluster of the Kustomization's kubeconfig.
func (r *Reconciler) remote(ctx context.Context, p *pass, account types.NamespacedName) (*engine.Cluster, func(), error) {
	ref := p.obj.Spec.KubeConfig.SecretRef
	if ref == nil {
		return nil, nil, &missingError{"spec.kubeConfig does not name a Secret"}
	}
	var secret corev1.Secret
	name := types.NamespacedName{Namespace: p.obj.Namespace, Name: ref.Name}
	err := r.Reader.Get(ctx, name, &secret)
	if apierrors.IsNotFound(err) {
		return nil, nil, &missingError{fmt.Sprintf("the Secret %s of spec.kubeConfig does not exist", name)}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the Secret %s of spec.kubeConfig: %w", name, err)
	}
	content, err := clusters.Kubeconfig(&secret, ref.Key)
	if err != nil {
		return nil, nil, &missingError{err.Error()}
	}
	p.asked = true
	if !r.clusters.turns.Enter(p.owner) {
		return nil, nil, busyError{}
	}
	done := func() { r.wake(r.clusters.turns.Exit()) }
	c, err := r.clusters.to(name, string(secret.UID)+secret.ResourceVersion+ref.Key, content, account)
	if err != nil {
		done()
		return nil, nil, fmt.Errorf("reach the cluster of the Secret %s: %w", name, err)
	}
	return c, done, nil
}

func (c *ways) to(secret types.NamespacedName, version string, content []byte, account types.NamespacedName) (*engine.Cluster, error) {
	return c.remotes.get(secret.String()+" "+version+" "+account.Name, func() (*engine.Cluster, error) {
		config, err := clusters.Config(content)
		if err != nil {
			return nil, err
		}
		if account.Name != "" {
			config = impersonate(config, account)
		}
		made, mapper, err := clusters.Open(config, c.scheme)
		if err != nil {
			return nil, err
		}
		return &engine.Cluster{Key: config.Host, Client: made, Mapper: mapper}, nil
	})
}

// wake triggers passes over Kustomizations whose turn it is to use a remote cluster.
func (r *Reconciler) wake(owners []engine.Owner) {
	for _, owner := range owners {
		r.enqueue(owner)
	}
}
