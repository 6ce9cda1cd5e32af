// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/url"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/docs"
	"github.com/yuba-dev/yuba/internal/web/docsite"
)

// The documentation of the server is read, searched as somebody types, and without JavaScript.
func TestTheDocumentationIsReadAndSearched(t *testing.T) {
	s, _ := common(t)
	b := newTab(t, s)
	b.login()
	b.open("/docs/how-to/approve-plans.html")
	b.sees("h1", "Approve plans")
	b.do(chromedp.WaitVisible("figure.diagram svg", chromedp.ByQuery))
	b.do(chromedp.SendKeys("#docs-query", "drift inter", chromedp.ByQuery))
	b.sees("#docs-found a", "Drift check interval")
	b.do(chromedp.Click(`#docs-found a[href$="drift.html"]`, chromedp.ByQuery))
	b.sees("h1", "Drift detection")
	if path := b.path(); path != "/docs/how-to/drift.html" {
		t.Errorf("a result leads to %s", path)
	}
	b.do(chromedp.SendKeys("#docs-query", "atlantis\r", chromedp.ByQuery))
	b.sees("#docs-results a", "From Atlantis")
}

// The written site is searched in browsers, without a server, and finds what the server finds.
func TestTheWrittenSiteFindsWhatTheServerFinds(t *testing.T) {
	d, err := docsite.Read(docs.Files)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "site")
	if err := d.Write(dir, "v1.2.3"); err != nil {
		t.Fatal(err)
	}
	b := newTab(t, nil)
	for _, query := range []string{"drift", "approve plan", "state lock force", "YUBA graph", "driftdetectioninterval", "kubect", "the backup", "a", "zzzqqq", "<img src=x onerror=alert(1)>", "1.2.3 sha256"} {
		type found struct {
			Title    string
			Headings []string
		}
		var want, got []found
		for _, f := range d.Index().Search(query) {
			one := found{Title: f.Title, Headings: []string{}}
			for _, h := range f.Headings {
				one.Headings = append(one.Headings, h.Text)
			}
			want = append(want, one)
		}
		b.do(chromedp.Navigate("file://"+dir+"/search.html?q="+url.QueryEscape(query)), chromedp.WaitVisible("#docs-results > p", chromedp.ByQuery),
			chromedp.Evaluate(`[...document.querySelectorAll("#docs-results > ol > li")].map((li) => ({Title: li.querySelector("a").textContent, Headings: [...li.querySelectorAll("ul a")].map((a) => a.textContent)}))`, &got))
		if len(got) == 0 {
			got = nil
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-server +browser):\n%s", query, diff)
		}
	}
}
