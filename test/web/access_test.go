// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// axe is where tools/ensure-axe puts axe-core.
const axe = "../../bin/axe.min.js"

// obstacle is what axe found, and where.
type obstacle struct {
	ID, Help string
	Nodes    []struct{ HTML, FailureSummary string }
}

// settled waits for what a script promises.
func settled(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }

// obstacles are what keeps people with disabilities from using the shown page, by WCAG 2.2 AA.
func (b *tab) obstacles(rules string) []obstacle {
	b.Helper()
	source, err := os.ReadFile(axe)
	if err != nil {
		b.Fatalf("%v. tools/ensure-axe fetches it", err)
	}
	var text string
	var loaded bool
	b.do(chromedp.Evaluate("window.axe !== undefined", &loaded))
	if !loaded {
		b.do(chromedp.Evaluate(string(source)+"\n;null", nil))
	}
	// Findings only: the rest takes time to collect.
	b.do(chromedp.Evaluate(`axe.run(Object.assign({ resultTypes: ["violations"] }, `+rules+`)).then((r) => JSON.stringify(r.violations))`, &text, settled))
	var found []obstacle
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		b.Fatalf("read what axe found: %v", err)
	}
	return found
}

// looks are the ways to look at a page. What does not depend on colours and widths is checked once.
var looks = []struct {
	name, scheme string
	width        int64
	rules        string
}{
	{"light", "light", 1280, `{ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }`},
	{"dark", "dark", 1280, `{ runOnly: ["color-contrast"] }`},
	{"on a phone", "light", 360, `{ runOnly: ["target-size", "scrollable-region-focusable", "region"] }`},
}

// usable checks the shown page in each look.
func (b *tab) usable(name string) {
	b.Helper()
	const height, phone = 800, 400
	for _, look := range looks {
		b.do(chromedp.EmulateViewport(look.width, height),
			emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: look.scheme}}),
			// The page hears of its new size with the next frame.
			chromedp.Evaluate(`new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => drawn(true))))`, nil, settled))
		for _, o := range b.obstacles(look.rules) {
			for _, node := range o.Nodes {
				b.Errorf("%s, %s: %s (%s)\n  %s\n  %s", name, look.name, o.Help, o.ID, node.HTML, strings.ReplaceAll(node.FailureSummary, "\n", " "))
			}
		}
		var wide string
		b.do(chromedp.Evaluate(`document.documentElement.scrollWidth <= innerWidth ? "" : [...document.querySelectorAll("main *")].filter((e) => e.getBoundingClientRect().right > innerWidth && !e.closest(".scroll, pre, svg")).map((e) => e.outerHTML.slice(0, 200)).join("\n  ") || "?"`, &wide))
		if wide != "" && look.width < phone {
			b.Errorf("%s, %s: the page is wider than the screen:\n  %s", name, look.name, wide)
		}
	}
	b.do(chromedp.EmulateViewport(1280, height), emulation.SetEmulatedMedia())
}

// Everybody can use what is not a page of its own, as TestEveryPage says of pages: the login, menus, lists
// without a row, and errors.
func TestWhatIsBesidePagesIsAccessible(t *testing.T) {
	s, _ := common(t)
	b := newTab(t, s)
	b.open("/login")
	b.usable("the login")
	b.do(chromedp.Evaluate(`document.querySelector("main").insertAdjacentHTML("beforeend", "<input name=unlabelled>")`, nil))
	if len(b.obstacles(looks[0].rules)) == 0 {
		t.Error("axe finds no obstacle in a field without a label: it does not look")
	}
	b.login()
	b.open("/stacks?q=nothing-is-called-this")
	b.usable("a list without a row")
	b.open("/")
	b.do(chromedp.Click(".person summary"), chromedp.WaitVisible(".menu"))
	b.usable("the menu")
	b.do(chromedp.KeyEvent("?"), chromedp.WaitVisible("#keys"))
	b.usable("the list of keys")
	b.open("/nothing/is/here")
	b.sees("h1", "Not Found")
	b.usable("a page that is not there")
	b.expect("404")
}

// Who has no JavaScript can log in, read, and approve by plain forms. A page that is older than the
// plan's approval by somebody else approves nothing.
func TestWithoutJavaScript(t *testing.T) {
	s, namespace := common(t)
	s.waits(t, namespace, "plain", greeting)
	link := strings.TrimSpace(s.yuba(t, "web", "--print"))
	plain, other := newTab(t, s), newTab(t, s)
	plain.do(emulation.SetScriptExecutionDisabled(true), chromedp.Navigate(link), chromedp.WaitVisible("#link button"), chromedp.Click("#link button"), chromedp.WaitVisible("#content"))
	row := "#waits-" + namespace + "\\.plain"
	plain.do(chromedp.WaitVisible(row))
	other.do(emulation.SetScriptExecutionDisabled(true), chromedp.Navigate(strings.TrimSpace(s.yuba(t, "web", "--print"))), chromedp.WaitVisible("#link button"), chromedp.Click("#link button"), chromedp.WaitVisible(row))
	// Two people look at the same plan, and both approve it.
	plain.do(chromedp.Click(row+" button"), chromedp.WaitVisible("#notice"))
	plain.sees("#notice", "is approved and will be applied")
	s.settles(t, namespace, "plain", func(stack *infrav1.Terraform) bool { return stack.Status.Plan.LastApplied != "" })
	other.do(chromedp.Click(row+" button"), chromedp.WaitVisible("#notice"))
	other.sees("#notice", "Nothing was approved")
	plain.open("/stacks")
	plain.do(chromedp.WaitVisible("#stack-" + namespace + "\\.plain"))
}

// A page that is used by keyboard alone shows where the focus is, and begins with a way to its content.
func TestKeyboardAlone(t *testing.T) {
	s, namespace := common(t)
	s.waits(t, namespace, "keys", greeting)
	b := newTab(t, s)
	b.login()
	b.open("/")
	var at string
	focused := chromedp.Evaluate(`(() => { const e = document.activeElement, o = getComputedStyle(e); return (e.innerText || e.getAttribute("name") || e.tagName).trim() + " " + o.outlineStyle; })()`, &at)
	b.do(chromedp.KeyEvent("\t"), focused)
	if !strings.HasPrefix(at, "Skip to the content") {
		t.Errorf("the first stop is %q", at)
	}
	const stops = 30
	for range stops {
		b.do(chromedp.KeyEvent("\t"), focused)
		if strings.HasSuffix(at, " none") && !strings.HasPrefix(at, "BODY") && !strings.Contains(at, "Inbox\n") {
			t.Errorf("the focus on %q cannot be seen", at)
		}
	}
	b.do(chromedp.Evaluate("document.activeElement.blur()", nil))
	b.do(chromedp.KeyEvent("?"), chromedp.WaitVisible("#keys"), chromedp.KeyEvent("\x1b"), chromedp.WaitNotVisible("#keys"))
	b.do(chromedp.KeyEvent("/"))
	b.do(chromedp.KeyEvent("keys\r"))
	b.sees("h1", "Stacks")
	b.do(chromedp.WaitVisible("#stack-" + namespace + "\\.keys"))
	if b.path() != "/stacks" {
		t.Errorf("the search leads to %s", b.path())
	}
}

// stays reports whether the shown page is still the one that was marked, and not loaded again.
func (b *tab) stays() bool {
	var marked bool
	if err := chromedp.Run(b.ctx, chromedp.Evaluate("window.marked === true", &marked)); err != nil {
		return false // it is being loaded
	}
	return marked
}

func (b *tab) mark(edition string) {
	b.Helper()
	script := "window.marked = true"
	if edition != "" {
		script += fmt.Sprintf("; document.documentElement.dataset.edition = %q", edition)
	}
	b.do(chromedp.Evaluate(script, nil))
}

// An open tab says that the server is away, keeps what it showed, and goes on with the next server. If
// that is another version, the tab loads the page again, once.
func TestARestartAndAnUpgradeUnderAnOpenTab(t *testing.T) {
	s := ownServer(t)
	namespace := s.namespace(t)
	s.waits(t, namespace, "first", greeting)
	b := newTab(t, s)
	b.login()
	b.open("/stacks")
	b.do(chromedp.WaitVisible("#stack-" + namespace + "\\.first"))
	b.mark("")
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
	b.sees("#trouble", "does not answer")
	b.sees("#stack-"+namespace+"\\.first", "pending")
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.WaitNotVisible("#trouble"))
	s.waits(t, namespace, "second", greeting)
	b.do(chromedp.WaitVisible("#stack-" + namespace + "\\.second"))
	if !b.stays() {
		t.Error("the tab loaded the page again, though the server is the same version")
	}
	b.mark("an older version")
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(patience); b.stays() && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
	}
	b.do(chromedp.WaitVisible("body[data-live]"))
	b.mark("")
	s.waits(t, namespace, "third", greeting)
	b.do(chromedp.WaitVisible("#stack-" + namespace + "\\.third"))
	if !b.stays() {
		t.Error("the tab loaded the page more than once")
	}
	b.expect("ERR_")
	b.expect("503")
}
