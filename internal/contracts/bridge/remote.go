// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/objects/clusters"
)

// maxRemotes limits the clients of other clusters in memory; others are created again.
const maxRemotes = 128

// remotes are the clients of other clusters, by the Secrets of their kubeconfigs.
type remotes struct {
	mu   sync.Mutex
	made map[string]client.Client
}

func (c *remotes) get(key string, open func() (client.Client, error)) (client.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if made, ok := c.made[key]; ok {
		return made, nil
	}
	made, err := open()
	if err != nil {
		return nil, err
	}
	if c.made == nil || len(c.made) >= maxRemotes {
		c.made = map[string]client.Client{}
	}
	c.made[key] = made
	return made, nil
}

// cluster returns the cluster of a bridge's object, and how to name it; nothing for this one.
func (r *Reconciler) cluster(ctx context.Context, b *yubav1.ContractBridge) (c client.Client, where string, err error) {
	kubeConfig := b.Spec.Store.KubeConfig
	if kubeConfig == nil {
		return r.Direct, "", nil
	}
	ref := kubeConfig.SecretRef
	if ref == nil {
		return nil, "", invalid("spec.store.kubeConfig does not name a Secret")
	}
	var secret corev1.Secret
	err = r.Direct.Get(ctx, types.NamespacedName{Namespace: b.Namespace, Name: ref.Name}, &secret)
	if apierrors.IsNotFound(err) {
		return nil, "", invalid("the Secret %s of spec.store.kubeConfig does not exist", ref.Name)
	}
	if err != nil {
		return nil, "", fmt.Errorf("read the Secret %s of spec.store.kubeConfig: %w", ref.Name, err)
	}
	content, err := clusters.Kubeconfig(&secret, ref.Key)
	if err != nil {
		return nil, "", invalid("%v", err)
	}
	c, err = r.remotes.get(string(secret.UID)+" "+secret.ResourceVersion+" "+ref.Key, func() (client.Client, error) {
		config, err := clusters.Config(content)
		if err != nil {
			return nil, invalid("the Secret %s of spec.store.kubeConfig: %v", ref.Name, err)
		}
		made, _, err := clusters.Open(config, r.Direct.Scheme())
		if err != nil {
			return nil, &unreachable{fmt.Errorf("reach the cluster of the Secret %s: %w", ref.Name, err)}
		}
		return made, nil
	})
	return c, " in the cluster of the Secret " + ref.Name, err
}
