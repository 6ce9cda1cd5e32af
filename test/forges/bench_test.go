// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package forges

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/testkit/forgetest"
	"github.com/yuba-dev/yuba/internal/testkit/giteatest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// The repository of the benchmark: so many stacks, of which a pull request changes some.
var (
	fleet     = flag.Int("fleet", 100, "the number of stacks in the repository")
	trials    = flag.Int("trials", 7, "the number of measured pushes")
	openPulls = flag.Int("open", 50, "the number of open pull requests; 0 leaves that part out")
	work      = flag.Int("work", 0, "how much each plan computes: 100 takes about a second; 0 for next to nothing")
	timeline  = flag.Bool("timeline", false, "show each request to the forge with its time")
)

const (
	touched  = 5
	idleTime = 15 * time.Second
)

// between is what passes between Yuba and Gitea, with its times.
type between struct {
	mu   sync.Mutex
	seen []passed
}

type passed struct {
	at           time.Time
	method, path string
	body         string
}

// around notes requests, and passes them on.
func (b *between) around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		begun := time.Now()
		defer func() { // also if the proxy gives up, because the client has read enough
			p := passed{at: time.Now(), method: r.Method, path: r.URL.Path, body: string(body)}
			if strings.Contains(r.URL.Path, "/hook/") {
				p.at = begun // it has arrived
			}
			b.mu.Lock()
			defer b.mu.Unlock()
			b.seen = append(b.seen, p)
		}()
		next.ServeHTTP(w, r)
	})
}

// take returns what has passed since the last call.
func (b *between) take() []passed {
	b.mu.Lock()
	defer b.mu.Unlock()
	seen := b.seen
	b.seen = nil
	slices.SortFunc(seen, func(a, b passed) int { return a.at.Compare(b.at) })
	return seen
}

// proxy serves a proxy of an address that notes what passes.
func (b *between) proxy(t testing.TB, to string) string {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(b.around(httputil.NewSingleHostReverseProxy(target)))
	t.Cleanup(s.Close)
	return s.URL
}

// fleetProgram has the stacks s000, s001 and so on. The first ones call the module "five".
func fleetProgram(n int) map[string]string {
	files := map[string]string{"modules/five/main.tf": five(n)}
	for i := range *fleet {
		text := fmt.Sprintf("resource \"terraform_data\" \"own\" {\n  count = 10\n  input = \"own-%d-${count.index}\"\n}\n", i)
		if i < touched {
			text += "module \"five\" { source = \"../../modules/five\" }\n"
		}
		files[fmt.Sprintf("stacks/s%03d/main.tf", i)] = text
	}
	return files
}

// five is the module with a version.
func five(n int) string {
	text := fmt.Sprintf("resource \"terraform_data\" \"five\" {\n  count = 10\n  input = \"five-%d-${count.index}\"\n}\n", n)
	if *work > 0 {
		text += fmt.Sprintf("resource \"terraform_data\" \"work\" { input = length([for i in range(%d) : [for j in range(1000) : i * j]]) }\n", *work)
	}
	return text
}

// BenchmarkPullRequests prints what "make bench-forges" measures.
func BenchmarkPullRequests(b *testing.B) {
	server, y := giteatest.Start(b), start(b)
	w, api, hooks := fleetWorld(b, server, y)
	plain := newPlain(b, fleetProgram(1))
	var first, comment, plans, withInit, requests []float64
	n := 0
	for i := range *trials {
		version := i + 2
		withInit = append(withInit, plain.run(b, version, true).Seconds())
		plans = append(plans, plain.run(b, version, false).Seconds())
		api.take()
		hooks.take()
		files := map[string]string{"modules/five/main.tf": five(version)}
		head := ""
		if n == 0 {
			n = w.Create(b, forgetest.Pull{Branch: "five", Title: "Five", Author: forgetest.Alice, Write: files})
		} else {
			head = w.Push(b, n, files)
		}
		p := w.until(b, n, head, yubav1.PullRequestPlanned)
		if len(p.Stacks) != touched {
			b.Fatalf("planned are %s", names(p))
		}
		w.eventually(b, "the status is good, and the comment has the plans", func() bool {
			texts := w.ours(b, n)
			return w.status(b, p.Head).Result == forge.Success && len(texts) == 1 && strings.Contains(texts[0], fmt.Sprintf("five-%d-", version))
		})
		hook, seen := hooks.take(), api.take()
		begin := hook[0].at
		requests = append(requests, float64(len(seen)))
		status, last := time.Time{}, time.Time{}
		for _, one := range seen {
			if status.IsZero() && one.method == http.MethodPost && strings.Contains(one.path, "/statuses/") {
				status = one.at
			}
			if one.method != http.MethodGet && strings.Contains(one.path, "/comments") && strings.Contains(one.body, fmt.Sprintf("five-%d-", version)) {
				last = one.at
			}
		}
		if status.IsZero() || last.IsZero() {
			for _, one := range seen {
				b.Logf("  %6.2f s %s %s %.300q", one.at.Sub(begin).Seconds(), one.method, one.path, one.body)
			}
			b.Fatalf("trial %d: of version %d no status or no comment with the plans was written; the comment is\n%s", i, version, strings.Join(w.ours(b, n), "\n"))
		}
		first, comment = append(first, status.Sub(begin).Seconds()), append(comment, last.Sub(begin).Seconds())
		for _, one := range seen {
			if *timeline {
				b.Logf("  %6.2f s %s %s", one.at.Sub(begin).Seconds(), one.method, one.path)
			}
		}
		b.Logf("trial %d: status after %.2f s, comment after %.2f s, %d requests; plain plans %.2f s, with init %.2f s", i, status.Sub(begin).Seconds(), last.Sub(begin).Seconds(), len(seen), plans[i], withInit[i])
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(first), "s/first-status")
	b.ReportMetric(median(comment), "s/comment")
	b.ReportMetric(median(withInit), "s/plain-init-and-plan")
	b.ReportMetric(median(plans), "s/plain-plan")
	b.ReportMetric(median(comment)/median(withInit), "ratio-to-init-and-plan")
	b.ReportMetric(median(comment)/median(plans), "ratio-to-plan")
	b.ReportMetric(median(requests), "requests/push")
	load, err := os.ReadFile("/proc/loadavg")
	b.Logf("the load of the machine: %s (%v)", strings.TrimSpace(string(load)), err)
	if *openPulls == 0 {
		return
	}
	w.eventually(b, "all is quiet", func() bool { before := len(api.take()); time.Sleep(time.Second); return before == 0 })
	api.take()
	time.Sleep(idleTime) // nothing may happen
	polled := len(api.take())
	before := y.memory(b)
	for i := range *openPulls {
		w.Create(b, forgetest.Pull{Branch: fmt.Sprintf("open-%d", i), Title: "Open", Author: forgetest.Alice,
			Write: map[string]string{fmt.Sprintf("stacks/s%03d/more.tf", (touched+i)%*fleet): "resource \"terraform_data\" \"more\" {}\n"}})
	}
	w.eventually(b, "all are planned", func() bool {
		planned := 0
		for _, p := range y.planner(b, w.ns).Status.PullRequests {
			if p.State == yubav1.PullRequestPlanned {
				planned++
			}
		}
		return planned == *openPulls+1
	})
	after := y.memory(b)
	b.ReportMetric(float64(polled), "requests/idle")
	b.ReportMetric(float64(after-before)/(1<<20), "MiB/50-open")
	b.Logf("memory %d MiB before, %d MiB after", before>>20, after>>20)
}

// fleetWorld is a world with all stacks applied, a webhook, and what passes between Yuba and Gitea.
func fleetWorld(b testing.TB, server *giteatest.Server, y *yuba) (w *world, api, hooks *between) {
	b.Helper()
	w, api, hooks = newWorld(b, server, y, "bench", false), &between{}, &between{}
	w.Put(b, fleetProgram(1))
	var manifests strings.Builder
	for i := range *fleet {
		fmt.Fprintf(&manifests, stackOf, w.ns, fmt.Sprintf("s%03d", i), "auto")
	}
	y.apply(b, manifests.String())
	y.run(b, "", "kubectl", "wait", "-n", w.ns, "--for=condition=Ready", "--timeout=9m", "terraform", "--all")
	proxied := fmt.Sprintf(planner+webhook, w.ns, "1h")
	y.apply(b, strings.Replace(proxied, "type: gitea", "type: gitea, address: "+api.proxy(b, w.URL)+"/api/v1", 1))
	w.eventually(b, "there is a webhook", func() bool { return y.planner(b, w.ns).Status.WebhookPath != "" })
	w.Hook(b, hooks.proxy(b, "http://"+y.http)+y.planner(b, w.ns).Status.WebhookPath, secret)
	y.run(b, "", "kubectl", "patch", "gitrepository", "-n", w.ns, "infra", "--type=merge", "-p", `{"spec":{"interval":"1h"}}`)
	return w, api, hooks
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// resident is the line of the resident memory.
var resident = regexp.MustCompile(`VmRSS:\s+(\d+) kB`)

// memory is the least resident memory of the server within some seconds.
func (y *yuba) memory(t testing.TB) (least int) {
	t.Helper()
	for range 20 {
		text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(y.cmd.Process.Pid), "status"))
		if err != nil {
			t.Fatal(err)
		}
		kb, err := strconv.Atoi(resident.FindStringSubmatch(string(text))[1])
		if err != nil {
			t.Fatal(err)
		}
		if least == 0 || kb<<10 < least {
			least = kb << 10
		}
		time.Sleep(500 * time.Millisecond)
	}
	return least
}

// plain is the same program, planned with plain tofu.
type plain struct{ tofu, dir string }

func newPlain(t testing.TB, files map[string]string) *plain {
	t.Helper()
	p := &plain{tofu: tofutest.Tofu(t), dir: t.TempDir()}
	for name, content := range files {
		p.write(t, name, content)
	}
	for i := range touched {
		for _, args := range [][]string{{"init", "-input=false"}, {"apply", "-input=false", "-auto-approve"}} {
			if out, err := p.command(i, args...).CombinedOutput(); err != nil {
				t.Fatalf("tofu %s: %v\n%s", args[0], err, out)
			}
		}
	}
	return p
}

func (p *plain) write(t testing.TB, name, content string) {
	t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (p *plain) command(stack int, args ...string) *exec.Cmd {
	cmd := exec.Command(p.tofu, args...)
	cmd.Dir = filepath.Join(p.dir, fmt.Sprintf("stacks/s%03d", stack))
	cmd.Env = append(os.Environ(), "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1")
	return cmd
}

// run plans the touched stacks with a version of the module, two at a time. With init, it begins without a working
// directory, as a CI job does.
func (p *plain) run(t testing.TB, version int, init bool) time.Duration {
	t.Helper()
	p.write(t, "modules/five/main.tf", five(version))
	commands := [][]string{{"plan", "-input=false", "-lock=false", "-out=plan.bin"}}
	if init {
		commands = append([][]string{{"init", "-input=false"}}, commands...)
		for i := range touched {
			if err := os.RemoveAll(filepath.Join(p.dir, fmt.Sprintf("stacks/s%03d/.terraform", i))); err != nil {
				t.Fatal(err)
			}
		}
	}
	begin := time.Now()
	var wait sync.WaitGroup
	slots := make(chan struct{}, 2)
	for i := range touched {
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			for _, args := range commands {
				if out, err := p.command(i, args...).CombinedOutput(); err != nil {
					t.Errorf("tofu %s: %v\n%s", args[0], err, out)
				}
			}
		})
	}
	wait.Wait()
	return time.Since(begin)
}
