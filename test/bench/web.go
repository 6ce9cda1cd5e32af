// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
)

const (
	// shownStacks are the stacks of the fleet that pages show, waitingPlans those whose plan waits.
	shownStacks, waitingPlans = 3000, 40
	// pageLoads is how often each page is loaded, openTabs the number of browsers that follow one.
	pageLoads, openTabs = 200, 200
	// pageChanges is how often an object on an open page changes.
	pageChanges = 30
)

// pagesShown are the measured pages, by what they show.
var pagesShown = []struct{ name, what, path string }{
	{"inbox", "the inbox", "/"},
	{"stacks", "the first stacks of the fleet", "/stacks"},
	{"query", "the fleet by a query", "/stacks?q=status%3Apending"},
	{"stack", "a stack", "/stacks/" + namespace + "/waits-000"},
	{"plan", "its plan", "/stacks/" + namespace + "/waits-000/plan"},
	{"large-plan", fmt.Sprintf("a plan of %d resources", planResources), "/stacks/" + namespace + "/" + largeStack + "/plan"},
	{"graph", "the graph", "/graph"},
	{"causes", "causes of failures", "/causes"},
}

// browser asks a server's page as somebody who has logged in.
type browser struct {
	base, cookie string
	http         *http.Client
}

// measureWeb measures the web page over a fleet: how long the server takes for a page, how much a
// browser loads first, how soon an open page shows a change, and what many open tabs cost.
func (b *bench) measureWeb(ctx context.Context) (err error) {
	y, err := b.start(ctx, b.directory("web"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, y.stop()) }()
	c, err := kubetest.Client(y.kubeconfig())
	if err != nil {
		return err
	}
	if err := showFleet(ctx, c); err != nil {
		return err
	}
	w, err := b.login(ctx, y)
	if err != nil {
		return err
	}
	for _, p := range pagesShown {
		var times []time.Duration
		for range pageLoads {
			began := time.Now()
			code, _, err := w.get(ctx, p.path)
			if err != nil {
				return err
			}
			if code != http.StatusOK {
				return fmt.Errorf("load %s: status %d", p.path, code)
			}
			times = append(times, time.Since(began))
		}
		b.results = append(b.results, result{Name: "web-" + p.name, What: fmt.Sprintf("%s of %d stacks, of which %d wait: 99 %% of %d loads within", p.what, shownStacks, waitingPlans, pageLoads),
			Unit: "ms", Value: quantile(milliseconds(times), 0.99), Yuba: spreadOf(milliseconds(times)), Trials: pageLoads})
	}
	if err := b.measureFirstLoad(ctx, w); err != nil {
		return err
	}
	if err := b.measurePaint(ctx, w); err != nil {
		return err
	}
	if err := b.measureTabs(ctx, y, w); err != nil {
		return err
	}
	return b.measureChanges(ctx, c, w)
}

// showFleet makes the fleet: stacks that wait for approval, and stacks at rest.
func showFleet(ctx context.Context, c client.Client) error {
	if err := c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return err
	}
	for i := range shownStacks {
		s := newStack(fmt.Sprintf("stack-%04d", i), 1)
		s.Spec.Suspend = true
		s.Labels = map[string]string{"env": []string{"dev", "staging", "prod"}[i%3], "team": fmt.Sprint("team-", i%20)}
		if i < waitingPlans {
			s.Name, s.Spec.Suspend, s.Spec.ApprovePlan = fmt.Sprintf("waits-%03d", i), false, ""
		}
		if err := c.Create(ctx, s); err != nil {
			return err
		}
	}
	large := newStack(largeStack, planResources)
	large.Spec.ApprovePlan = ""
	if err := c.Create(ctx, large); err != nil {
		return err
	}
	waiting := []string{largeStack}
	for i := range waitingPlans {
		waiting = append(waiting, fmt.Sprintf("waits-%03d", i))
	}
	deadline, cancel := context.WithTimeout(ctx, 10*patience)
	defer cancel()
	for _, name := range waiting {
		var s infrav1.Terraform
		for s.Status.Plan.Pending == "" {
			if err := pause(deadline, 100*time.Millisecond); err != nil {
				return err
			}
			if err := c.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, &s); err != nil {
				return err
			}
		}
	}
	return nil
}

// login logs in by the link that the command prints.
func (b *bench) login(ctx context.Context, y *yuba) (*browser, error) {
	cmd := exec.CommandContext(ctx, b.programs.yuba, "web", "--print", "--kubeconfig", y.kubeconfig())
	link, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("yuba web --print: %w", err)
	}
	u, err := url.Parse(strings.TrimSpace(string(link)))
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{MaxIdleConnsPerHost: openTabs, MaxConnsPerHost: 0}
	w := &browser{base: u.Scheme + "://" + u.Host, http: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	form := url.Values{"code": {u.Query().Get("code")}}.Encode()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.base+"/login/link", strings.NewReader(form))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	response, err := w.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close() //nolint:errcheck // it was not read
	if cookies := response.Cookies(); len(cookies) > 0 {
		w.cookie = cookies[0].Name + "=" + cookies[0].Value
		return w, nil
	}
	return nil, fmt.Errorf("log in by a link: status %d", response.StatusCode)
}

func (w *browser) ask(ctx context.Context, path, accept string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.base+path, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Cookie", w.cookie)
	r.Header.Set("Accept", accept)
	return w.http.Do(r)
}

// get loads a page.
func (w *browser) get(ctx context.Context, path string) (int, []byte, error) {
	response, err := w.ask(ctx, path, "text/html")
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close() //nolint:errcheck // read only
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, body, err
}

// sent is the size of what is sent to browsers, which take compressed bodies.
func (w *browser) sent(ctx context.Context, path string) (int, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.base+path, nil)
	if err != nil {
		return 0, err
	}
	r.Header.Set("Cookie", w.cookie)
	r.Header.Set("Accept", "text/html")
	r.Header.Set("Accept-Encoding", "gzip") // set by hand, it stays as it was sent
	response, err := w.http.Do(r)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close() //nolint:errcheck // read only
	body, err := io.ReadAll(response.Body)
	return len(body), err
}

// assetsOf matches the addresses of a page's own assets.
var assetsOf = regexp.MustCompile(`(?:src|href)="(/assets/[^"]+)"`)

// measureFirstLoad measures what a browser loads for the first page.
func (b *bench) measureFirstLoad(ctx context.Context, w *browser) error {
	_, page, err := w.get(ctx, "/stacks")
	if err != nil {
		return err
	}
	sent, err := w.sent(ctx, "/stacks")
	if err != nil {
		return err
	}
	all, scripts, seen := len(page), 0, map[string]bool{}
	for _, match := range assetsOf.FindAllSubmatch(page, -1) {
		path := string(match[1])
		if seen[path] {
			continue
		}
		seen[path] = true
		_, asset, err := w.get(ctx, path)
		if err != nil {
			return err
		}
		all += len(asset)
		short, err := w.sent(ctx, path)
		if err != nil {
			return err
		}
		sent += short
		if strings.Contains(path, ".js") {
			scripts += len(asset)
		}
	}
	b.results = append(b.results,
		result{Name: "web-first-load", What: "the first load of the list of stacks, with its assets, as it is sent to browsers", Unit: "kB", Value: float64(sent) / 1000, Trials: 1},
		result{Name: "web-first-load-full", What: "… not compressed", Unit: "kB", Value: float64(all) / 1000, Trials: 1},
		result{Name: "web-script", What: "… of that scripts", Unit: "kB", Value: float64(scripts) / 1000, Trials: 1})
	return nil
}

// measureTabs measures what open tabs cost while nothing changes.
func (b *bench) measureTabs(ctx context.Context, y *yuba, w *browser) error {
	if err := pause(ctx, b.settle); err != nil {
		return err
	}
	before, err := memoryOf(y.cmd.Process.Pid)
	if err != nil {
		return err
	}
	idle, err := b.serverCPU(ctx, y)
	if err != nil {
		return err
	}
	tabs, closeTabs := context.WithCancel(ctx)
	var open sync.WaitGroup
	defer open.Wait()
	defer closeTabs()
	ready := make(chan error, openTabs)
	for range openTabs {
		open.Go(func() {
			response, err := w.ask(tabs, "/stacks", "text/event-stream")
			if err != nil {
				ready <- err
				return
			}
			defer response.Body.Close() //nolint:errcheck // read only
			lines := bufio.NewScanner(response.Body)
			lines.Buffer(nil, 10<<20)
			for told := false; lines.Scan(); {
				if !told && strings.HasPrefix(lines.Text(), "event: parts") {
					told = true
					ready <- nil
				}
			}
		})
	}
	for range openTabs {
		if err := <-ready; err != nil {
			return fmt.Errorf("open a tab: %w", err)
		}
	}
	if err := pause(ctx, b.settle); err != nil {
		return err
	}
	after, err := memoryOf(y.cmd.Process.Pid)
	if err != nil {
		return err
	}
	busy, err := b.serverCPU(ctx, y)
	if err != nil {
		return err
	}
	b.results = append(b.results,
		result{Name: "web-tabs-memory", What: fmt.Sprintf("%d open tabs: memory of the server, above that before", openTabs), Unit: "MB", Value: float64(after.resident-before.resident) / 1e6, Trials: 1},
		result{Name: "web-tabs-cpu", What: "… CPU of the server while nothing changes, above that before", Unit: "%", Value: 100 * (busy - idle), Trials: 1})
	return nil
}

// serverCPU is the share of one core that the server uses at rest.
func (b *bench) serverCPU(ctx context.Context, y *yuba) (float64, error) {
	began, err := y.spent()
	if err != nil {
		return 0, err
	}
	if err := pause(ctx, b.idle); err != nil {
		return 0, err
	}
	ended, err := y.spent()
	return (ended.server - began.server).Seconds() / b.idle.Seconds(), err
}

// measureChanges measures the time from a change of an object until an open page gets it.
func (b *bench) measureChanges(ctx context.Context, c client.Client, w *browser) error {
	tab, closeTab := context.WithCancel(ctx)
	defer closeTab()
	response, err := w.ask(tab, "/stacks?q=stack-0100", "text/event-stream")
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // read only
	lines := make(chan string, 1000)
	go func() {
		defer close(lines)
		scanner := bufio.NewScanner(response.Body)
		scanner.Buffer(nil, 10<<20)
		for scanner.Scan() {
			lines <- scanner.Text()
		}
	}()
	var times []time.Duration
	key := types.NamespacedName{Namespace: namespace, Name: "stack-0100"}
	for i := range pageChanges {
		// The stack changes its state on the page each time.
		patch, err := json.Marshal(map[string]any{"spec": map[string]any{"suspend": i%2 == 1, "approvePlan": "disable"}})
		if err != nil {
			return err
		}
		if err := pause(ctx, 2*time.Second); err != nil {
			return err
		}
		for drained := false; !drained; {
			select {
			case <-lines:
			default:
				drained = true
			}
		}
		began := time.Now()
		s := infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
		if err := c.Patch(ctx, &s, client.RawPatch(types.MergePatchType, patch)); err != nil {
			return err
		}
		for line := range lines {
			if strings.HasPrefix(line, "data: [") && bytes.Contains([]byte(line), []byte("stack-0100")) {
				break
			}
		}
		times = append(times, time.Since(began))
	}
	b.add("web-change", "from a change of an object until the open page has it", "ms", times)
	return nil
}
