// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// unseen makes the browser one whose person looks elsewhere and allows notifications when they are
// asked. It remembers what was shown.
const unseen = `document.hasFocus = () => false;
window.shown = [];
window.Notification = class {
  static permission = "default";
  static async requestPermission() { return this.permission = "granted"; }
  constructor(title, options) { shown.push(title + " | " + options.body + " | " + options.tag); }
};`

// The title, the icon and the navigation count what waits on every page. Notifications are off until
// they are asked for, and tell a number and a name.
func TestAPageTellsWhatWaits(t *testing.T) {
	s := ownServer(t)
	namespace := s.namespace(t)
	b := newTab(t, s)
	b.login()
	b.do(chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(unseen).Do(ctx)
		return err
	}))
	b.open("/stacks")
	// ask makes the page ask what waits, as it does every half minute.
	ask := chromedp.Evaluate(`localStorage.setItem("waits", JSON.stringify({ ...JSON.parse(localStorage.getItem("waits") || "{}"), asked: 0 })); document.dispatchEvent(new Event("yuba:drawn"))`, nil)
	told := func(want string) {
		t.Helper()
		b.do(ask, chromedp.Poll(`[document.title.replace(/ ·.*/, ""), document.querySelector("link[rel=icon]").href.slice(0, 5), (document.querySelector("nav .pill") || {}).innerText].join() === "`+want+`"`, nil))
	}
	told("Stacks,http:,")
	s.waits(t, namespace, "one", greeting)
	told("(1) Stacks,data:,1")
	var shown string
	notified := chromedp.Evaluate(`shown.join("\n")`, &shown)
	if b.do(notified); shown != "" {
		t.Errorf("nobody asked for notifications, and there was %q", shown)
	}
	b.do(chromedp.Click(".person summary"), chromedp.Click("#bell"))
	b.sees("#bell", "Stop notifications")
	// Times of plans are whole seconds.
	s.settles(t, namespace, "one", func(stack *infrav1.Terraform) bool { return time.Now().Unix() > stack.Status.LastPlanAt.Unix() })
	s.waits(t, namespace, "two", greeting)
	told("(2) Stacks,data:,2")
	told("(2) Stacks,data:,2") // it is told once
	if b.do(notified); shown != "Yuba: 2 waiting | "+namespace+"/two | yuba" {
		t.Errorf("the notification was %q", shown)
	}
	b.do(chromedp.Click("#bell"))
	b.sees("#bell", "Notify me")
	s.yuba(t, "reject", "one", "-n", namespace)
	s.yuba(t, "reject", "two", "-n", namespace)
	told("Stacks,http:,")
	if b.do(notified); strings.Contains(shown, "\n") {
		t.Errorf("after the end of notifications: %q", shown)
	}
}
