// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"net/http"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/yuba-dev/yuba/internal/gitops/releases/wire"
)

// cluster is how Helm reaches the target cluster: by the server. It is a RESTClientGetter.
type cluster struct {
	transport http.RoundTripper
	namespace string

	once      sync.Once
	discovery discovery.CachedDiscoveryInterface
	mapper    meta.RESTMapper
	err       error
}

var _ genericclioptions.RESTClientGetter = (*cluster)(nil)

// ToRESTConfig implements RESTClientGetter. The server limits the rate of requests, and adds credentials.
func (c *cluster) ToRESTConfig() (*rest.Config, error) {
	return &rest.Config{Host: "http://" + wire.Cluster, Transport: c.transport, QPS: -1, UserAgent: "yuba-helm", WarningHandler: rest.NoWarnings{}}, nil
}

// ToDiscoveryClient implements RESTClientGetter.
func (c *cluster) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	c.once.Do(func() {
		config, _ := c.ToRESTConfig() //nolint:errcheck // never fails
		made, err := discovery.NewDiscoveryClientForConfig(config)
		if err != nil {
			c.err = err
			return
		}
		c.discovery = memory.NewMemCacheClient(made)
		c.mapper = restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(c.discovery), c.discovery, nil)
	})
	return c.discovery, c.err
}

// ToRESTMapper implements RESTClientGetter.
func (c *cluster) ToRESTMapper() (meta.RESTMapper, error) {
	_, err := c.ToDiscoveryClient()
	return c.mapper, err
}

// ToRawKubeConfigLoader implements RESTClientGetter.
func (c *cluster) ToRawKubeConfigLoader() clientcmd.ClientConfig {
	overrides := &clientcmd.ConfigOverrides{Context: clientcmdapi.Context{Namespace: c.namespace}, ClusterInfo: clientcmdapi.Cluster{Server: "http://" + wire.Cluster}}
	return clientcmd.NewDefaultClientConfig(*clientcmdapi.NewConfig(), overrides)
}

// refresh forgets the kinds of the cluster, after a chart has brought new ones.
func (c *cluster) refresh() {
	if c.discovery != nil {
		c.discovery.Invalidate()
	}
	if c.mapper != nil {
		meta.MaybeResetRESTMapper(c.mapper)
	}
}
