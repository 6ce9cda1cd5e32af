// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

const (
	// planResources is the number of resources of a large plan, paints how often each page is painted.
	planResources, paints = 5000, 10
	largeStack            = "large"
)

// painted are the pages of which the first paint is measured.
var painted = []struct{ name, what, path string }{
	{"inbox", fmt.Sprintf("the inbox of %d stacks", shownStacks), "/"},
	{"stacks", fmt.Sprintf("the list of %d stacks", shownStacks), "/stacks"},
	{"graph", fmt.Sprintf("the graph of %d stacks", shownStacks), "/graph"},
	{"plan", fmt.Sprintf("a plan of %d resources", planResources), "/stacks/" + namespace + "/" + largeStack + "/plan"},
}

// measurePaint measures how soon a browser paints pages that it has not loaded before, and how long it takes until all of
// such a page is there. Without a browser it measures nothing and says so.
func (b *bench) measurePaint(ctx context.Context, w *browser) error {
	allocator, closeAllocator := chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox)...)
	defer closeAllocator()
	tab, closeTab := chromedp.NewContext(allocator)
	defer closeTab()
	if err := w.enter(tab); err != nil {
		fmt.Fprintf(os.Stderr, "web-paint is not measured: start Chromium: %v. tools/ensure-browser installs it\n", err)
		return ctx.Err()
	}
	for _, p := range painted {
		var first, whole []time.Duration
		for range paints + 1 {
			at, all, err := w.paint(tab, p.path)
			if err != nil {
				return fmt.Errorf("paint %s: %w", p.path, err)
			}
			first, whole = append(first, at), append(whole, all)
		}
		b.add("web-paint-"+p.name, p.what+" in a browser, nothing cached: first paint", "ms", first[1:])
		b.add("web-loaded-"+p.name, "… until it is loaded with its assets", "ms", whole[1:])
	}
	return nil
}

// enter gives a tab the session.
func (w *browser) enter(tab context.Context) error {
	name, value, _ := strings.Cut(w.cookie, "=")
	u, err := url.Parse(w.base)
	if err != nil {
		return err
	}
	return chromedp.Run(tab, network.Enable(), network.SetCacheDisabled(true),
		network.SetCookie(name, value).WithURL("https://"+u.Host+"/").WithPath("/").WithSecure(true).WithHTTPOnly(true))
}

// paint loads a page and returns when the browser painted it first, and when it was loaded, as the browser says.
func (w *browser) paint(tab context.Context, path string) (first, whole time.Duration, err error) {
	var ms []float64
	wait := func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }
	err = chromedp.Run(tab, chromedp.Navigate(w.base+path), chromedp.WaitVisible("h1", chromedp.ByQuery), chromedp.Evaluate(`new Promise((resolve) => {
		new PerformanceObserver((list) => {
			const first = list.getEntriesByName("first-contentful-paint")[0];
			if (first) resolve([first.startTime, performance.getEntriesByType("navigation")[0].loadEventEnd]);
		}).observe({ type: "paint", buffered: true });
	})`, &ms, wait))
	if err != nil {
		return 0, 0, err
	}
	var where string
	if err := chromedp.Run(tab, chromedp.Location(&where)); err != nil {
		return 0, 0, err
	}
	if !strings.HasSuffix(where, path) {
		return 0, 0, fmt.Errorf("the browser is at %s", where)
	}
	return time.Duration(ms[0] * float64(time.Millisecond)), time.Duration(ms[1] * float64(time.Millisecond)), nil
}
