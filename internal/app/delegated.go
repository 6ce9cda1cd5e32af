// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	genericapifilters "k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/yuba-dev/yuba/internal/kit/listener"
)

// serveContent serves content at its own address. The API server authenticates clients, by its
// client authority or by token review, and authorises them, by access reviews for the same
// resources that the embedded API server would check.
func (e *engine) serveContent(ctx context.Context, opts ControllerOptions, certs *certificates) (url string, stop func(), err error) {
	inner, err := listen("--content-address", opts.ContentAddress)
	if err != nil {
		return "", nil, err
	}
	connections := listener.New(inner, opts.Connections.Share(50))
	secured, err := delegate(ctx, opts.Config, listener.Knowing(connections, e.content.ServeMux()))
	if err != nil {
		return "", nil, errors.Join(err, connections.Close())
	}
	// Any client certificate may be presented; the handler verifies it against the API's client
	// authority.
	server := listener.NewServer(secured, 0, &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: certs.get, ClientAuth: tls.RequestClientCert}, opts.Log)
	_, port, err := net.SplitHostPort(connections.Addr().String())
	if err != nil {
		return "", nil, fmt.Errorf("read the address %q: %w", connections.Addr(), err)
	}
	e.content.ArchiveURL = "https://" + net.JoinHostPort(reachableHost(opts.ContentAddress), port)
	go serve("content", opts.Log, func() error { return server.ServeTLS(connections, "", "") })
	return e.content.ArchiveURL, func() { server.Close() }, nil //nolint:errcheck // the process ends
}

// reachableHost returns the name by which clients reach a listening address: the machine's name if
// it listens on all addresses.
func reachableHost(address string) string {
	host, _, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err == nil && host != "" && !(ip != nil && ip.IsUnspecified()) {
		return host
	}
	name, err := os.Hostname()
	if err != nil {
		return "localhost"
	}
	return name
}

// clientAuthority is where every API server publishes its client authority.
var clientAuthority = struct{ namespace, name, key string }{"kube-system", "extension-apiserver-authentication", "client-ca-file"}

func delegate(ctx context.Context, config *rest.Config, next http.Handler) (http.Handler, error) {
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make the API's client: %w", err)
	}
	cas, err := dynamiccertificates.NewDynamicCAFromConfigMapController("client-ca", clientAuthority.namespace, clientAuthority.name, clientAuthority.key, api)
	if err != nil {
		return nil, fmt.Errorf("find the API's client authority: %w", err)
	}
	if err := cas.RunOnce(ctx); err != nil {
		return nil, fmt.Errorf("read the API's client authority: %w", err)
	}
	go cas.Run(ctx, 1)
	backoff := genericoptions.DefaultAuthWebhookRetryBackoff()
	authn, _, err := authenticatorfactory.DelegatingAuthenticatorConfig{
		Anonymous: &apiserver.AnonymousAuthConfig{}, TokenAccessReviewClient: api.AuthenticationV1(),
		TokenAccessReviewTimeout: 10 * time.Second, WebhookRetryBackoff: backoff, CacheTTL: 10 * time.Second,
		ClientCertificateCAContentProvider: cas,
	}.New()
	if err != nil {
		return nil, fmt.Errorf("set up authentication: %w", err)
	}
	authz, err := authorizerfactory.DelegatingAuthorizerConfig{
		SubjectAccessReviewClient: api.AuthorizationV1(), WebhookRetryBackoff: backoff,
		AllowCacheTTL: 10 * time.Second, DenyCacheTTL: 10 * time.Second,
	}.New()
	if err != nil {
		return nil, fmt.Errorf("set up authorisation: %w", err)
	}
	codecs := serializer.NewCodecFactory(newScheme())
	h := genericapifilters.WithAuthorization(next, authz, codecs)
	h = genericapifilters.WithAuthentication(h, authn, genericapifilters.Unauthorized(codecs), nil, nil)
	resolver := &request.RequestInfoFactory{APIPrefixes: sets.NewString("apis", "api"), GrouplessAPIPrefixes: sets.NewString("api")}
	return genericapifilters.WithRequestInfo(h, resolver), nil
}
