// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	genericapifilters "k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/filters/impersonation"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/gateway/content"
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
	connections := listener.New(inner, opts.Connections.Share(45))
	secured, err := delegate(ctx, opts.Config, e.content.ServeMux())
	if err != nil {
		return "", nil, errors.Join(err, connections.Close())
	}
	// Any client certificate may be presented; the handler verifies it against the API's client
	// authority.
	server := listener.NewServer(listener.Knowing(connections, secured), 0, &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: certs.get, ClientAuth: tls.RequestClientCert}, opts.Log)
	_, port, err := net.SplitHostPort(connections.Addr().String())
	if err != nil {
		return "", nil, fmt.Errorf("read the address %q: %w", connections.Addr(), err)
	}
	host := reachableHost(opts.ContentAddress)
	if opts.Service.Name != "" {
		host = ServiceHost(opts.Service)
	}
	e.content.ArchiveURL = "https://" + net.JoinHostPort(host, port)
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
		return nil, fmt.Errorf("create the API's client: %w", err)
	}
	cas, err := dynamiccertificates.NewDynamicCAFromConfigMapController("client-ca", clientAuthority.namespace, clientAuthority.name, clientAuthority.key, api)
	if err != nil {
		return nil, fmt.Errorf("find the API's client authority: %w", err)
	}
	if err := cas.RunOnce(ctx); err != nil {
		return nil, fmt.Errorf("read the API's client authority: %w", err)
	}
	go cas.Run(ctx, 1)
	proxies, err := frontProxies(ctx, api)
	if err != nil {
		return nil, err
	}
	backoff := genericoptions.DefaultAuthWebhookRetryBackoff()
	authn, _, err := authenticatorfactory.DelegatingAuthenticatorConfig{
		Anonymous: &apiserver.AnonymousAuthConfig{}, TokenAccessReviewClient: api.AuthenticationV1(),
		TokenAccessReviewTimeout: 10 * time.Second, WebhookRetryBackoff: backoff, CacheTTL: 10 * time.Second,
		ClientCertificateCAContentProvider: cas, RequestHeaderConfig: proxies,
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
	h := genericapifilters.WithAuthorization(known(next), authz, codecs)
	// The page acts as people. Without this filter its requests would be authorised as Yuba's own.
	h = impersonation.WithImpersonation(h, authz, codecs)
	h = genericapifilters.WithAuthentication(h, authn, genericapifilters.Unauthorized(codecs), nil, nil)
	resolver := &request.RequestInfoFactory{APIPrefixes: sets.NewString("apis", "api"), GrouplessAPIPrefixes: sets.NewString("api")}
	return genericapifilters.WithRequestInfo(h, resolver), nil
}

// known tells the listener which connections make authorised requests with credentials.
func known(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if who, ok := request.UserFrom(r.Context()); ok && who.GetName() != user.Anonymous {
			listener.Authenticated(r.Context())
		}
		next.ServeHTTP(w, r)
	})
}

// frontProxies trusts the API server to say for whom it passes on a request, by what it publishes
// beside its client authority. It is nil for an API server that does not pass on requests.
func frontProxies(ctx context.Context, api kubernetes.Interface) (*authenticatorfactory.RequestHeaderConfig, error) {
	at := clientAuthority
	published, err := api.CoreV1().ConfigMaps(at.namespace).Get(ctx, at.name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read the API's client authority: %w", err)
	}
	const authority = "requestheader-client-ca-file"
	if published.Data[authority] == "" {
		return nil, nil
	}
	cas, err := dynamiccertificates.NewDynamicCAFromConfigMapController("front-proxy-ca", at.namespace, at.name, authority, api)
	if err != nil {
		return nil, fmt.Errorf("find the authority of the API's front proxy: %w", err)
	}
	if err := cas.RunOnce(ctx); err != nil {
		return nil, fmt.Errorf("read the authority of the API's front proxy: %w", err)
	}
	headers := headerrequest.NewRequestHeaderAuthRequestController(at.name, at.namespace, api, "requestheader-username-headers", "requestheader-uid-headers",
		"requestheader-group-headers", "requestheader-extra-headers-prefix", "requestheader-allowed-names")
	if err := headers.RunOnce(ctx); err != nil {
		return nil, fmt.Errorf("read the headers of the API's front proxy: %w", err)
	}
	go cas.Run(ctx, 1)
	go headers.Run(ctx, 1)
	return &authenticatorfactory.RequestHeaderConfig{CAContentProvider: cas, AllowedClientNames: headerrequest.StringSliceProviderFunc(headers.AllowedClientNames),
		UsernameHeaders: headerrequest.StringSliceProviderFunc(headers.UsernameHeaders), UIDHeaders: headerrequest.StringSliceProviderFunc(headers.UIDHeaders),
		GroupHeaders:        headerrequest.StringSliceProviderFunc(headers.GroupHeaders),
		ExtraHeaderPrefixes: headerrequest.StringSliceProviderFunc(headers.ExtraHeaderPrefixes)}, nil
}

// publishContent publishes the address of content for clients, since this API does not serve it
// itself.
func publishContent(ctx context.Context, c client.Client, url string, ca []byte, log *slog.Logger) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: content.ConfigMapNamespace}}
	if err := c.Create(ctx, ns); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create the namespace %s: %w", ns.Name, err)
	}
	cm := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: content.ConfigMapNamespace, Name: content.ConfigMapName},
		Data:       map[string]string{"url": url, "ca.crt": string(ca)},
	}
	err := c.Create(ctx, cm)
	if apierrors.IsAlreadyExists(err) {
		err = c.Update(ctx, cm)
	}
	if err != nil {
		return fmt.Errorf("publish the address of the content: %w", err)
	}
	if err := letEverybodyFind(ctx, c); err != nil {
		log.Warn("cannot grant everybody access to the address of content; users need permission to read it", "configmap", cm.Namespace+"/"+cm.Name, "error", err)
	}
	return nil
}

// letEverybodyFind lets all authenticated users read the address. It is not secret, and content is
// authorised.
func letEverybodyFind(ctx context.Context, c client.Client) error {
	meta := metav1.ObjectMeta{Namespace: content.ConfigMapNamespace, Name: content.ConfigMapName}
	for _, o := range []client.Object{
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"},
			ResourceNames: []string{content.ConfigMapName}, Verbs: []string{"get"}}}},
		&rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: user.AllAuthenticated}}},
	} {
		if err := c.Create(ctx, o); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}
