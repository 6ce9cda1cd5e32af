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

	// Before the API server makes its logger.
	_ "github.com/yuba-dev/yuba/internal/home/etcd/quiet"

	apiextensionsapiserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apimachinery/pkg/runtime"
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

// issuer of service account tokens, the name that in-cluster clients expect.
const issuer = "https://kubernetes.default.svc"

// apiServer is the API server before and while it runs.
type apiServer struct {
	aggregator *aggregatorapiserver.APIAggregator
	loopback   *rest.Config
}

// newAPIServer puts the API server together: CRDs, built-in kinds and the aggregator that presents both as one.
func newAPIServer(ctx context.Context, k *keys, etcdEndpoint string, d door, o Options) (*apiServer, error) {
	if err := setFeatures(); err != nil {
		return nil, fmt.Errorf("set the API server's features: %w", err)
	}
	getter, guard := &tokenGetter{}, &actAs{}
	chosen := serverOptions(k, etcdEndpoint, d.connections, getter)
	chosen.Authentication.AuthenticationConfigFile = o.AuthenticationConfig
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
		return nil, fmt.Errorf("make the API server's client: %w", err)
	}
	if s.aggregator, err = config.newChain(); err != nil {
		return nil, err
	}
	return s, s.mount(o.Mount)
}

// serverOptions are the options that Kubernetes' own API server takes from flags.
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
	// A watch cache keeps every object decoded, and for a minute or more what each was before: for thousands of objects that
	// is more memory than all else together. etcd is in this process, and those who watch are few and have caches of their
	// own.
	o.Etcd.EnableWatchCache = false

	o.Admission.GenericAdmission.DefaultOffPlugins = admissionOff()
	// Flow control shares a server among thousands of clients; a fixed number of requests in flight is enough here.
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

// serverConfig holds the configurations of the three servers that answer one after the other.
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

// newChain builds the three servers, each answering what the one before it does not know.
func (c *serverConfig) newChain() (*aggregatorapiserver.APIAggregator, error) {
	notFound := notfoundhandler.New(c.controlPlane.Generic.Serializer, genericapifilters.NoMuxAndDiscoveryIncompleteKey)
	extensions, err := c.extensions.New(genericapiserver.NewEmptyDelegateWithCustomHandler(notFound))
	if err != nil {
		return nil, fmt.Errorf("make the server of installed kinds: %w", err)
	}
	native, err := c.controlPlane.New("yuba", extensions.GenericAPIServer)
	if err != nil {
		return nil, fmt.Errorf("make the server of built-in kinds: %w", err)
	}
	client, err := kubernetes.NewForConfig(c.controlPlane.Generic.LoopbackClientConfig)
	if err != nil {
		return nil, fmt.Errorf("make the API server's client: %w", err)
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
		return nil, fmt.Errorf("make the server that joins all kinds: %w", err)
	}
	return aggregator, nil
}

// contentPrefix is where mounted handlers serve bytes, which takes longer than a minute when there are many.
const contentPrefix = "/apis/content.yuba.dev/"

func longRunning(others request.LongRunningRequestCheck) request.LongRunningRequestCheck {
	return func(r *http.Request, info *request.RequestInfo) bool {
		return strings.HasPrefix(r.URL.Path, contentPrefix) || others(r, info)
	}
}

type mountFunc func(*rest.Config) (map[string]http.Handler, error)

// mount adds the handlers of others behind authentication and authorisation.
func (s *apiServer) mount(mount mountFunc) error {
	if mount == nil {
		return nil
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

// clientConfig is an administrator's way in that needs no file and is not slowed down.
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
