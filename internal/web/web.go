// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/web/access"
	"github.com/yuba-dev/yuba/internal/web/applications"
	"github.com/yuba-dev/yuba/internal/web/assets"
	"github.com/yuba-dev/yuba/internal/web/causes"
	"github.com/yuba-dev/yuba/internal/web/contracts"
	"github.com/yuba-dev/yuba/internal/web/fleet"
	"github.com/yuba-dev/yuba/internal/web/graph"
	"github.com/yuba-dev/yuba/internal/web/history"
	"github.com/yuba-dev/yuba/internal/web/inbox"
	"github.com/yuba-dev/yuba/internal/web/live"
	"github.com/yuba-dev/yuba/internal/web/login"
	"github.com/yuba-dev/yuba/internal/web/manual"
	"github.com/yuba-dev/yuba/internal/web/operations"
	"github.com/yuba-dev/yuba/internal/web/pieces"
	"github.com/yuba-dev/yuba/internal/web/platforms"
	"github.com/yuba-dev/yuba/internal/web/policies"
	"github.com/yuba-dev/yuba/internal/web/registry"
	"github.com/yuba-dev/yuba/internal/web/site"
	"github.com/yuba-dev/yuba/internal/web/sources"
	stackpage "github.com/yuba-dev/yuba/internal/web/stack"
	"github.com/yuba-dev/yuba/internal/web/tenants"
	"github.com/yuba-dev/yuba/internal/web/versions"
	"github.com/yuba-dev/yuba/internal/web/watched"
)

// Options are what the page needs.
type Options struct {
	// Config leads to the API, and may impersonate people. Objects is a client for it.
	Config  *rest.Config
	Objects client.Client
	// Cache has the watched objects.
	Cache cache.Cache
	// URL is the address under which people reach the page, if it is not the one it listens on.
	URL *url.URL
	// Address is the host:port that it listens on.
	Address string
	// Namespace is where sessions are kept.
	Namespace string
	// SessionKey seals sessions; 32 bytes.
	SessionKey []byte
	// SessionLifetime is how long a session lasts. Anonymous lets people read without a login.
	SessionLifetime time.Duration
	Anonymous       bool
	// Masters lets members of system:masters log in. Provider logs people in; nil for none.
	Masters  bool
	Provider login.Provider
	Version  string
	Now      func() time.Time
	Log      *slog.Logger
}

// Web is the page.
type Web struct {
	http.Handler
	logins *login.Logins
	load   *history.History
	site   *site.Site
}

// sections are the entries of the navigation, with the letters that follow "g".
var sections = []site.Section{
	{Text: "Inbox", Address: inbox.Section, Key: "i"},
	{Text: "Stacks", Address: fleet.Section, Key: "s"},
	{Text: "Causes", Address: causes.Section, Key: "c"},
	{Text: "Graph", Address: graph.Section, Key: "g"},
	{Text: "Sources", Address: sources.Section, Key: "u"},
	{Text: "Tenants", Address: tenants.Section, Key: "t"},
	{Text: "Applications", Address: applications.Section, Key: "a"},
	{Text: "Platforms", Address: platforms.Section, Key: "l"},
	{Text: "Operations", Address: operations.Section, Key: "o"},
	{Text: "Registry", Address: registry.Section, Key: "r"},
	{Text: "Policy & audit", Address: policies.Section, Key: "p"},
	{Text: "Docs", Address: manual.Section, Key: "h"},
}

// New assembles the page.
func New(o Options) (*Web, error) {
	logins, err := login.New(login.Options{
		Objects: o.Objects, Namespace: o.Namespace, Key: o.SessionKey, Cookie: cookieOf(o), Lifetime: o.SessionLifetime, Anonymous: o.Anonymous,
		Masters: o.Masters, Provider: o.Provider, URL: o.URL, Now: o.Now, Log: o.Log,
	})
	if err != nil {
		return nil, err
	}
	edition := o.Version + "-" + assets.Edition()
	s := site.New(site.Options{
		Access: access.New(o.Config, o.Objects, o.Cache, o.Now), Hub: live.New(o.Cache), Who: logins.Who,
		Sections: slices.Clone(sections), Cookie: cookieOf(o), Edition: edition, Now: o.Now, Log: o.Log,
	})
	objects := watched.New(o.Cache, o.Objects, o.Now)
	if err := fleet.Add(s, o.Cache); err != nil {
		return nil, err
	}
	causes.Add(s, o.Cache)
	manual.Add(s)
	own, err := content.NewClient(o.Config)
	if err != nil {
		return nil, err
	}
	load := history.New(own.Figures, o.Log)
	pieces.Add(s)
	inbox.Add(s, o.Cache, objects)
	graph.Add(s, objects)
	sources.Add(s, objects)
	tenants.Add(s, objects)
	applications.Add(s, objects)
	platforms.Add(s, objects)
	operations.Add(s, objects, load)
	registry.Add(s)
	contracts.Add(s, objects)
	versions.Add(s, objects)
	policies.Add(s, objects)
	stackpage.Add(s, o.Cache)
	s.Page("/", func(r *site.Request) (*site.Page, error) {
		return nil, site.NotFound("There is no page at "+r.URL.Path+".", "")
	})
	pages := http.NewServeMux()
	logins.Routes(pages, edition)
	pages.Handle("/", s)
	// Assets need no session.
	mux := http.NewServeMux()
	mux.Handle("GET /assets/", assets.Handler(edition))
	// Browsers ask for it where a response names no icon.
	mux.Handle("GET /favicon.ico", http.RedirectHandler("/assets/yuba.svg", http.StatusMovedPermanently))
	mux.Handle("/", logins.Within(pages))
	guard, err := newGuard(o)
	if err != nil {
		return nil, err
	}
	return &Web{Handler: guard.around(mux), logins: logins, load: load, site: s}, nil
}

// Link returns the path of a link that logs a person in once.
func (w *Web) Link(p access.Person) (string, error) { return w.logins.Link(p) }

// Patterns are the patterns of all pages behind the login, as those of http.ServeMux.
func (w *Web) Patterns() []string { return w.site.Patterns() }

// Start does the page's work in the background until ctx ends.
func (w *Web) Start(ctx context.Context) error {
	go w.load.Start(ctx)
	return w.logins.Start(ctx)
}

// cookieOf names the session's cookie. Browsers do not tell the ports of a host apart.
func cookieOf(o Options) string {
	port := "yuba"
	if u, err := url.Parse("//" + o.Address); err == nil && u.Port() != "" && o.URL == nil {
		port = fmt.Sprintf("yuba-%s", u.Port())
	}
	return port
}
