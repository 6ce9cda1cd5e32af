// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package home

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	// Initialise this package before the API server makes its logger.
	_ "github.com/yuba-dev/yuba/internal/home/etcd/quiet"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	apiextensionsapiserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapifilters "k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/request"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/util/notfoundhandler"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	aggregatorapiserver "k8s.io/kube-aggregator/pkg/apiserver"
	aggregatorscheme "k8s.io/kube-aggregator/pkg/apiserver/scheme"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	controlplaneapiserver "k8s.io/kubernetes/pkg/controlplane/apiserver"
	"k8s.io/kubernetes/pkg/controlplane/apiserver/options"
	kubeoptions "k8s.io/kubernetes/pkg/kubeapiserver/options"
	"k8s.io/kubernetes/pkg/serviceaccount"

	"github.com/yuba-dev/yuba/internal/home/schemas"
)

// issuer is the issuer of service account tokens, as in-cluster clients expect it.
const issuer = "https://kubernetes.default.svc"

type apiServer struct {
	aggregator *aggregatorapiserver.APIAggregator
	loopback   *rest.Config
}

// newAPIServer assembles the API server: the servers of CRDs and built-in kinds, and the aggregator
// in front of both.
func newAPIServer(ctx context.Context, k *keys, etcdEndpoint string, d door, o Options) (*apiServer, error) {
	if err := setFeatures(); err != nil {
		return nil, fmt.Errorf("set the API server's features: %w", err)
	}
	getter, guard := &tokenGetter{}, &actAs{}
	chosen := serverOptions(k, etcdEndpoint, d.connections, getter)
	chosen.Authentication.AuthenticationConfigFile = o.AuthenticationConfig
	if o.ServiceAccountIssuer != "" { // the first one issues, and earlier tokens stay valid
		chosen.Authentication.ServiceAccounts.Issuers = []string{o.ServiceAccountIssuer, issuer}
	}
	guard.register(chosen.Admission.GenericAdmission.Plugins)
	chosen.Admission.GenericAdmission.RecommendedPluginOrder = append(slices.Clone(kubeoptions.AllOrderedPlugins), tokenSecretsPlugin)
	if err := o.audit(k, chosen.Audit); err != nil {
		return nil, err
	}
	completed, err := chosen.Complete(ctx, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("complete the API server's options: %w", err)
	}
	if err := errors.Join(completed.Validate()...); err != nil {
		return nil, fmt.Errorf("check the API server's options: %w", err)
	}
	config, err := newServerConfig(completed, d, guard, o.anonymousByFile)
	if err != nil {
		return nil, fmt.Errorf("configure the API server: %w", err)
	}
	s := &apiServer{loopback: config.controlPlane.Generic.LoopbackClientConfig}
	s.loopback.WarningHandler = rest.NoWarnings{}
	if getter.client, err = kubernetes.NewForConfig(s.clientConfig()); err != nil {
		return nil, fmt.Errorf("create the API server's client: %w", err)
	}
	if s.aggregator, err = config.newChain(); err != nil {
		return nil, err
	}
	return s, s.mount(o.Mount, o.Mounted)
}

// serverOptions returns what Kubernetes' own API server reads from flags.
func serverOptions(k *keys, etcdEndpoint string, listener net.Listener, getter *tokenGetter) *options.Options {
	o := options.NewOptions()
	o.GenericServerRunOptions.AdvertiseAddress = net.IPv4(127, 0, 0, 1)
	o.SecureServing.Listener = listener
	o.SecureServing.BindPort = listener.Addr().(*net.TCPAddr).Port
	o.SecureServing.ServerCert.CertKey.CertFile = k.serving.CertificateFile()
	o.SecureServing.ServerCert.CertKey.KeyFile = k.serving.KeyFile()
	o.SecureServing.MinTLSVersion = "VersionTLS12"

	o.Etcd.StorageConfig.Transport.ServerList = []string{etcdEndpoint}
	o.Etcd.StorageConfig.Transport.TrustedCAFile = k.etcd.File()
	o.Etcd.StorageConfig.Transport.CertFile = k.etcdClient.CertificateFile()
	o.Etcd.StorageConfig.Transport.KeyFile = k.etcdClient.KeyFile()
	o.Etcd.StorageConfig.CountMetricPollPeriod = 10 * time.Minute
	o.Etcd.EncryptionProviderConfigFilepath = k.encryption()
	// A watch cache of thousands of decoded objects, with previous versions, needs more memory than
	// everything else. etcd runs in this process, and clients have caches.
	o.Etcd.EnableWatchCache = false

	o.Admission.GenericAdmission.DefaultOffPlugins = admissionOff()
	// Flow control shares a server among thousands of clients. A fixed limit on requests is enough
	// here.
	o.Features.EnablePriorityAndFairness = false
	o.Features.EnableProfiling = false

	// See admitProbes.
	o.Authentication.Anonymous.Allow = false
	o.Authentication.ClientCert.ClientCA = k.api.File()
	o.Authentication.ServiceAccounts.Issuers = []string{issuer}
	o.Authentication.ServiceAccounts.KeyFiles = []string{k.serviceAccountKey()}
	o.Authentication.ServiceAccounts.OptionalTokenGetter = func(informers.SharedInformerFactory) serviceaccount.ServiceAccountTokenGetter {
		return getter
	}
	o.ServiceAccountSigningKeyFile = k.serviceAccountKey()
	o.Authorization.Modes = []string{"RBAC"}
	return o
}

// serverConfig holds the configurations of the three chained servers.
type serverConfig struct {
	controlPlane controlplaneapiserver.CompletedConfig
	extensions   apiextensionsapiserver.CompletedConfig
	aggregator   aggregatorapiserver.CompletedConfig
}

func newServerConfig(o options.CompletedOptions, d door, guard *actAs, anonymousByFile bool) (*serverConfig, error) {
	schemes := []*runtime.Scheme{legacyscheme.Scheme, apiextensionsapiserver.Scheme, aggregatorscheme.Scheme}
	generic, shared, storage, err := controlplaneapiserver.BuildGenericConfig(o, schemes, servedGroups(), schemas.Definitions)
	if err != nil {
		return nil, err
	}
	if !anonymousByFile {
		admitProbes(&generic.Authentication)
	}
	guard.use(generic.Authorization.Authorizer, shared)
	generic.Authorization.Authorizer = guard
	generic.RESTOptionsGetter = bookmarked{generic.RESTOptionsGetter}
	generic.LongRunningFunc = longRunning(generic.LongRunningFunc)
	services := webhook.NewDefaultServiceResolver()
	controlPlane, initializers, err := controlplaneapiserver.CreateConfig(o, generic, shared, storage, services, nil)
	if err != nil {
		return nil, err
	}
	resolver := webhook.NewDefaultAuthenticationInfoResolverWrapper(controlPlane.ProxyTransport,
		controlPlane.Generic.EgressSelector, controlPlane.Generic.LoopbackClientConfig, controlPlane.Generic.TracerProvider)
	extensions, err := controlplaneapiserver.CreateAPIExtensionsConfig(*controlPlane.Generic, controlPlane.VersionedInformers,
		initializers, o, 1, services, resolver)
	if err != nil {
		return nil, err
	}
	extensions.ExtraConfig.CRDRESTOptionsGetter = bookmarked{extensions.ExtraConfig.CRDRESTOptionsGetter}
	extensions.GenericConfig.RESTOptionsGetter = bookmarked{extensions.GenericConfig.RESTOptionsGetter}
	aggregator, err := controlplaneapiserver.CreateAggregatorConfig(*controlPlane.Generic, o, controlPlane.VersionedInformers,
		services, controlPlane.ProxyTransport, controlPlane.Extra.PeerProxy, initializers)
	if err != nil {
		return nil, err
	}
	aggregator.GenericConfig.RESTOptionsGetter = bookmarked{aggregator.GenericConfig.RESTOptionsGetter}
	aggregator.ExtraConfig.DisableRemoteAvailableConditionController = true
	aggregator.GenericConfig.BuildHandlerChainFunc = d.chain(aggregator.GenericConfig.BuildHandlerChainFunc)
	return &serverConfig{
		controlPlane: controlPlane.Complete(), extensions: extensions.Complete(), aggregator: aggregator.Complete(),
	}, nil
}

// newChain builds the three servers. Each passes on requests for kinds that it does not serve.
func (c *serverConfig) newChain() (*aggregatorapiserver.APIAggregator, error) {
	notFound := notfoundhandler.New(c.controlPlane.Generic.Serializer, genericapifilters.NoMuxAndDiscoveryIncompleteKey)
	extensions, err := c.extensions.New(genericapiserver.NewEmptyDelegateWithCustomHandler(notFound))
	if err != nil {
		return nil, fmt.Errorf("create the server of installed kinds: %w", err)
	}
	native, err := c.controlPlane.New("yuba", extensions.GenericAPIServer)
	if err != nil {
		return nil, fmt.Errorf("create the server of built-in kinds: %w", err)
	}
	client, err := kubernetes.NewForConfig(c.controlPlane.Generic.LoopbackClientConfig)
	if err != nil {
		return nil, fmt.Errorf("create the API server's client: %w", err)
	}
	providers, err := c.controlPlane.GenericStorageProviders(client.Discovery())
	if err != nil {
		return nil, fmt.Errorf("list the built-in kinds: %w", err)
	}
	if err := native.InstallAPIs(providers...); err != nil {
		return nil, fmt.Errorf("serve the built-in kinds: %w", err)
	}
	aggregator, err := controlplaneapiserver.CreateAggregatorServer(c.aggregator, native.GenericAPIServer,
		extensions.Informers.Apiextensions().V1().CustomResourceDefinitions(), true,
		controlplaneapiserver.DefaultGenericAPIServicePriorities())
	if err != nil {
		return nil, fmt.Errorf("create the API aggregator: %w", err)
	}
	return aggregator, nil
}

// contentPrefix is the path of mounted handlers. Their transfers may take longer than a minute.
const contentPrefix = "/apis/content.yuba.dev/"

func longRunning(others request.LongRunningRequestCheck) request.LongRunningRequestCheck {
	return func(r *http.Request, info *request.RequestInfo) bool {
		return strings.HasPrefix(r.URL.Path, contentPrefix) || others(r, info)
	}
}

type mountFunc func(*rest.Config) (map[string]http.Handler, error)

// mount adds further handlers behind authentication and authorisation.
func (s *apiServer) mount(mount mountFunc, resources metav1.APIResourceList) error {
	if mount == nil {
		return nil
	}
	if err := s.discover(resources); err != nil {
		return err
	}
	handlers, err := mount(s.clientConfig())
	if err != nil {
		return fmt.Errorf("mount further handlers: %w", err)
	}
	mux := s.aggregator.GenericAPIServer.Handler.NonGoRestfulMux
	for path, handler := range handlers {
		if strings.HasSuffix(path, "/") {
			mux.UnlistedHandlePrefix(path, handler)
		} else {
			mux.UnlistedHandle(path, handler)
		}
	}
	return nil
}

// discover adds resources of mounted handlers to discovery.
func (s *apiServer) discover(resources metav1.APIResourceList) error {
	if len(resources.APIResources) == 0 {
		return nil
	}
	gv, err := schema.ParseGroupVersion(resources.GroupVersion)
	if err != nil {
		return fmt.Errorf("list further resources: %w", err)
	}
	found := apidiscovery.APIVersionDiscovery{Version: gv.Version, Freshness: apidiscovery.DiscoveryFreshnessCurrent}
	for _, r := range resources.APIResources {
		found.Resources = append(found.Resources, apidiscovery.APIResourceDiscovery{Resource: r.Name, SingularResource: r.SingularName, Scope: apidiscovery.ScopeCluster, Verbs: r.Verbs,
			ResponseKind: &metav1.GroupVersionKind{Group: gv.Group, Version: gv.Version, Kind: r.Kind}})
	}
	s.aggregator.GenericAPIServer.AggregatedDiscoveryGroupManager.AddGroupVersion(gv.Group, found)
	return nil
}

// clientConfig returns administrator access that needs no files and has no rate limit.
func (s *apiServer) clientConfig() *rest.Config {
	config := rest.CopyConfig(s.loopback)
	config.QPS = -1
	// Each client chooses its own encoding: kinds installed as CRDs have no protobuf.
	config.ContentType, config.AcceptContentTypes = "", ""
	config.UserAgent = "yuba"
	return config
}

// run serves until the context ends.
func (s *apiServer) run(ctx context.Context) error {
	prepared, err := s.aggregator.PrepareRun()
	if err != nil {
		return fmt.Errorf("prepare the API server: %w", err)
	}
	return prepared.Run(ctx)
}
