// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/gitops/notify/receive"
	"github.com/yuba-dev/yuba/internal/kit/listener"
	"github.com/yuba-dev/yuba/internal/web"
	"github.com/yuba-dev/yuba/internal/web/access"
	"github.com/yuba-dev/yuba/internal/web/login"
	"github.com/yuba-dev/yuba/internal/web/login/provider"
)

// answerTime limits a request for pages and webhooks. A webhook waits for its turn, its body and
// its expressions.
const answerTime = 2 * time.Minute

// WebOptions configure the page.
type WebOptions struct {
	// URL is the address under which people reach the page, such as https://yuba.example.com; empty
	// for the address that it listens on.
	URL string
	// SessionLifetime is how long a login lasts. Anonymous lets people read without one.
	SessionLifetime time.Duration
	Anonymous       bool
	// Serve serves the page, and AllowMasters acts as members of system:masters. Both are for
	// controllers; a server with an API of its own does both.
	Serve, AllowMasters bool
	// OIDC is an identity provider; without an issuer there is none.
	OIDC provider.Options
}

// check refuses options that cannot work, before anything has started.
func (o WebOptions) check() error {
	if _, err := o.address(); err != nil {
		return err
	}
	_, err := o.provider()
	return err
}

// provider returns the identity provider; nil if there is none.
func (o WebOptions) provider() (login.Provider, error) {
	switch {
	case o.OIDC.Issuer != "":
		o.OIDC.Now = time.Now
		return provider.New(o.OIDC)
	case o.OIDC.ClientID != "" || o.OIDC.ClientSecretFile != "":
		return nil, errors.New("--web-oidc-client-id and --web-oidc-client-secret-file need --web-oidc-issuer: the URL of the identity provider")
	}
	return nil, nil
}

// address returns where people reach the page; nil for where it listens.
func (o WebOptions) address() (*url.URL, error) {
	if o.URL == "" {
		return nil, nil
	}
	u, err := url.Parse(o.URL)
	if err != nil {
		return nil, fmt.Errorf("--web-url %s: %w", o.URL, err)
	}
	if u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || strings.Trim(u.Path, "/") != "" {
		return nil, fmt.Errorf("--web-url %s: expected https://HOST without a path", o.URL)
	}
	return u, nil
}

// openWeb assembles the page on an API. It works once the manager has started. It acts as members of
// system:masters if masters is true.
func (e *engine) openWeb(config *rest.Config, address string, masters bool) (*web.Web, error) {
	public, err := e.opts.Web.address()
	if err != nil {
		return nil, err
	}
	identities, err := e.opts.Web.provider()
	if err != nil {
		return nil, err
	}
	// The manager's own clients are narrowed to the namespaces that its controllers work on.
	objects, err := client.New(config, client.Options{Scheme: e.manager.GetScheme(), Mapper: e.manager.GetRESTMapper()})
	if err != nil {
		return nil, fmt.Errorf("create the API's client of the page: %w", err)
	}
	key, err := e.sessionKey()
	if err != nil {
		return nil, err
	}
	page, err := web.New(web.Options{SessionKey: key, Config: config, Objects: objects, Cache: e.manager.GetCache(), URL: public, Address: address, Namespace: webNamespace,
		SessionLifetime: e.opts.Web.SessionLifetime, Anonymous: e.opts.Web.Anonymous, Masters: masters, Provider: identities, Version: e.opts.Version, Now: time.Now, Log: e.opts.Log.With("component", "web")})
	if err != nil {
		return nil, err
	}
	e.content.WebLink = func(user authenticationv1.UserInfo) (string, error) {
		path, err := page.Link(access.PersonOf(user))
		if err != nil {
			return "", err
		}
		base := "http://" + address
		if public != nil {
			base = strings.TrimRight(public.String(), "/")
		}
		return base + path, nil
	}
	return page, e.manager.Add(manager.RunnableFunc(page.Start))
}

// sessionKey is derived from the key of the blobs, which replicas share.
func (e *engine) sessionKey() ([]byte, error) {
	identity, err := blob.LoadOrCreateKey(e.dir.BlobKey())
	if err != nil {
		return nil, err
	}
	const size = 32
	return hkdf.Key(sha256.New, []byte(identity.String()), nil, "yuba web sessions", size)
}

// webNamespace is where sessions of the page are kept.
const webNamespace = content.ConfigMapNamespace

// latePage serves the page once there is one. It never will be if off is true.
type latePage struct {
	atomic.Pointer[web.Web]
	off bool
}

// ServeHTTP implements http.Handler.
func (p *latePage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	page := p.Load()
	if page == nil && p.off {
		http.Error(w, "This server has no web page. Start it with --web: the chart's value is web.enabled", http.StatusNotFound)
		return
	}
	if page == nil {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "Yuba is starting. Load this page again in a moment", http.StatusServiceUnavailable)
		return
	}
	page.ServeHTTP(w, r)
}

// listen listens on the address that a flag names.
func listen(flag, address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("cannot listen on %s: address already in use. Another Yuba or program uses it: choose another with %s", address, flag)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w", address, err)
	}
	return l, nil
}

// serve serves until the server is closed, and logs why it cannot.
func serve(what string, log *slog.Logger, until func() error) {
	if err := until(); err != nil && !errors.Is(err, http.ErrServerClosed) {
		log.Error("serving "+what+" failed", "error", err)
	}
}

// serveWeb serves browsers, probes and webhooks: /livez responds if the process does, /readyz says
// whether it works or why not, and receivers are below /hook/.
func serveWeb(address string, limits listener.Limits, unready func() string, page, hooks http.Handler, log *slog.Logger) (*http.Server, net.Listener, error) {
	inner, err := listen("--http-address", address)
	if err != nil {
		return nil, nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if why := unready(); why != "" {
			http.Error(w, why, http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	// The address also serves webhooks, whose paths have other methods.
	mux.Handle("/", page)
	mux.Handle(receive.HookPath, hooks)
	connections := listener.New(inner, limits)
	server := listener.NewServer(listener.Knowing(connections, mux), listener.ShortBody, nil, log)
	server.WriteTimeout = answerTime
	go serve("HTTP", log, func() error { return server.Serve(connections) })
	return server, connections, nil
}
