// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
	page "github.com/yuba-dev/yuba/internal/web"
	"github.com/yuba-dev/yuba/internal/web/login"
)

// patterns are the patterns of all pages, of a page that is never started.
func patterns(t *testing.T, s *server) []string {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(s.dir, "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	watched, err := cache.New(config, cache.Options{Scheme: kubetest.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	w, err := page.New(page.Options{Config: config, Objects: s.client, Cache: watched, Namespace: "x", SessionKey: login.RandomKey(), SessionLifetime: time.Hour,
		Now: time.Now, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return w.Patterns()
}

// pictures are the pages of which docs and README show pictures.
var pictures = map[string]string{
	"/": "inbox", "/stacks": "stacks", "/stacks/shop/web/plan": "plan", "/graph": "graph", "/causes": "causes", "/tenants": "tenants", "/platforms/shop/acme": "platform",
}

// walk opens a page of each kind that links lead to.
type walk struct {
	*tab
	pages *http.ServeMux
	// next are addresses to open, and known has one for each kind of addresses.
	next  []string
	known map[string]string
	// seen are the patterns of the opened pages.
	seen map[string]bool
}

func newWalk(b *tab, patterns []string) *walk {
	w := &walk{tab: b, pages: http.NewServeMux(), known: map[string]string{}, seen: map[string]bool{}}
	for _, pattern := range patterns {
		w.pages.HandleFunc(pattern, func(http.ResponseWriter, *http.Request) {})
	}
	return w
}

// kindOf is what addresses of one kind have in common: the pattern, and the parameter if there is one.
// Several parameters are those of one kind, too.
func (w *walk) kindOf(address string) (kind, pattern string) {
	u, err := url.Parse(address)
	if err != nil {
		return "", ""
	}
	_, pattern = w.pages.Handler(&http.Request{Method: http.MethodGet, URL: u})
	switch names := slices.Collect(maps.Keys(u.Query())); len(names) {
	case 0:
		return pattern, pattern
	case 1:
		return pattern + " " + names[0], pattern
	}
	return pattern + " …", pattern
}

// note notes addresses of kinds that were not known.
func (w *walk) note(addresses ...string) {
	for _, address := range addresses {
		address, _, _ = strings.Cut(address, "#")
		kind, pattern := w.kindOf(address)
		if pattern == "" || pattern == "/" || w.known[kind] != "" {
			continue
		}
		w.known[kind] = address
		w.next = append(w.next, address)
	}
}

// visit checks the shown page, and notes where its links lead.
func (w *walk) visit(address string) {
	w.Helper()
	_, pattern := w.kindOf(address)
	began := time.Now()
	if !w.seen[pattern] { // else it is that page again, with other data
		w.usable(address)
	}
	w.seen[pattern] = true
	if name := pictures[address]; name != "" {
		w.picture(name)
	}
	var links []string
	w.do(chromedp.Evaluate(`[...document.querySelectorAll("a[href]")].filter((a) => a.origin === location.origin).map((a) => a.pathname + a.search)`, &links))
	w.note(links...)
	w.Logf("%4d ms %s", time.Since(began).Milliseconds(), address)
}

// Each page of the site shows real data to everybody: with a screen reader, in light and dark, and on a
// phone. None makes the browser report an error or a violation of the content security policy.
func TestEveryPage(t *testing.T) {
	s := estate(t)
	all := patterns(t, s)
	b := newTab(t, s)
	b.login()
	w := newWalk(b, all)
	// Of some kinds, one address shows more than the first that is linked.
	w.note("/", "/stacks", "/stacks/shop/web", "/stacks/shop/web/plan", "/stacks/shop/cluster/runs", "/stacks/shop/cluster/states", "/stacks/shop/cluster/inputs",
		"/stacks/shop/cluster/outputs", "/stacks/shop/cluster/graph", "/stacks/shop/database/why", "/stacks/shop/web/events", "/graph", "/causes", "/audit", "/applications/buckets/shop/photos", "/docs/how-to/approve-plans.html", "/docs/search?q=drift")
	for len(w.next) > 0 {
		address := w.next[0]
		w.next = w.next[1:]
		b.open(address)
		w.visit(address)
	}
	// Forms lead to the others.
	b.open("/applications/buckets/new?namespace=shop")
	b.do(chromedp.SetValue(`input[name="name"]`, "films"), chromedp.SetValue(`input[name="spec.gigabytes"]`, "many"), chromedp.Click(`button[formaction$="/try"]`))
	b.sees("[role=alert]", "Write a whole number")
	w.usable("a form with mistakes")
	b.do(chromedp.SetValue(`input[name="spec.gigabytes"]`, "7"), chromedp.SetValue(`input[name="spec.bucketName"]`, "films"), chromedp.Click(`button[formaction$="/try"]`))
	b.sees("h2", "What would be stored")
	w.usable("a form that was tried")
	b.open("/")
	b.do(chromedp.Click(`a[href*="/inbox/confirm"][href*="verb=approve"]`), chromedp.WaitVisible(`form[action="/inbox/do"]`))
	b.do(chromedp.Click(`form[action="/inbox/do"] button.main`))
	b.sees("main td .state", "done")
	w.visit(b.path())
	for _, pattern := range all {
		if !w.seen[pattern] && pattern != "/" {
			t.Errorf("no page of %s was opened", pattern)
		}
	}
}
