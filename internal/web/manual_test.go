// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"
	"strings"
	"testing"
)

func TestTheDocumentationIsServed(t *testing.T) {
	w := newWorld(t)
	b := w.login(admin())
	for path, c := range map[string]struct {
		code int
		has  []string
	}{
		"/docs/":                                   {http.StatusOK, []string{"<h1>Documentation</h1>", `href="how-to/drift.html"`, `<script src="/assets/docs.js?`, `href="/docs/" aria-current="page"`}},
		"/docs/how-to/drift.html":                  {http.StatusOK, []string{"<h1>Drift detection</h1>", `action="../search"`, `data-index="../search-index.js"`, `<a href="/docs/">Documentation</a>`}},
		"/docs/how-to/drift":                       {http.StatusOK, []string{"<h1>Drift detection</h1>"}},
		"/docs/reference/cli/":                     {http.StatusOK, []string{`action="../../search"`}},
		"/docs/how-to/nothing.html":                {http.StatusNotFound, []string{"has no page how-to/nothing.html"}},
		"/docs/search":                             {http.StatusOK, []string{"Type words"}},
		"/docs/search?q=drift":                     {http.StatusOK, []string{"pages for <b>drift</b>", `<a href="how-to/drift.html">Drift detection</a>`}},
		"/docs/search?q=zzz%3Cb%3E":                {http.StatusOK, []string{"No page has all these words"}},
		"/docs/search-index.js":                    {http.StatusOK, []string{"window.yubaIndex={"}},
		"/docs/reference/policy-facts.schema.json": {http.StatusOK, []string{`"$schema"`}},
	} {
		code, body := b.get(path)
		if code != c.code {
			t.Errorf("%s: %d, want %d", path, code, c.code)
		}
		for _, has := range c.has {
			if !strings.Contains(body, has) {
				t.Errorf("%s has no %s: %.2000s", path, has, body)
			}
		}
	}
	if code, to := b.get("/docs"); code != http.StatusMovedPermanently && code != http.StatusTemporaryRedirect {
		t.Errorf("/docs: %d %s", code, to)
	}
	if code, _ := w.nobody().get("/docs/search-index.js"); code == http.StatusOK {
		t.Error("strangers get the index")
	}
}
