// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package forges

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/testkit/forgetest"
	"github.com/yuba-dev/yuba/internal/testkit/giteatest"
)

// The repository of the benchmark: so many stacks, of which a pull request changes some.
var (
	fleet     = flag.Int("fleet", 100, "the number of stacks in the repository")
	trials    = flag.Int("trials", 7, "the number of measured pushes")
	openPulls = flag.Int("open", 50, "the number of open pull requests; 0 leaves that part out")
	work      = flag.Int("work", 0, "how much each plan computes: 100 takes about a second; 0 for next to nothing")
	timeline  = flag.Bool("timeline", false, "show each request to the forge, and the server's log, with times")
)

const (
	touched  = 5
	idleTime = 15 * time.Second
)

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
	m := &measured{}
	n := 0
	for i := range *trials {
		version := i + 2
		m.plain(plain.run(b, version, true))
		m.plans(plain.run(b, version, false))
		n = w.measure(b, n, version, api, hooks, m)
	}
	m.report(b)
	p := w.until(b, n, "", yubav1.PullRequestPlanned)
	if len(p.Stacks) != touched {
		b.Fatalf("planned are %s", names(p))
	}
	if *openPulls > 0 {
		w.manyOpen(b, api)
	}
}

// measure pushes a version of the module, and waits until the comment has the plans, and the status says so. It only looks
// at what passes between Yuba and Gitea: any question would take their time.
func (w *world) measure(b *testing.B, n, version int, api, hooks *between, m *measured) int {
	b.Helper()
	api.quiet(b)
	hooks.take()
	api.take()
	cpu := w.y.cpu(b)
	files := map[string]string{"modules/five/main.tf": five(version)}
	if n == 0 {
		n = w.Create(b, forgetest.Pull{Branch: "five", Title: "Five", Author: forgetest.Alice, Write: files})
	} else {
		w.Push(b, n, files)
	}
	planned := fmt.Sprintf("five-%d-", version)
	commented := func(p passed) bool {
		return p.method != http.MethodGet && strings.Contains(p.path, "/comments") && strings.Count(p.body, planned) > 0
	}
	var comment time.Time
	api.await(b, "the comment has the plans, and then the status is good", func(seen []passed) bool {
		comment = time.Time{}
		for _, p := range seen {
			if commented(p) {
				comment = p.at
			}
			if !comment.IsZero() && p.method == http.MethodPost && strings.Contains(p.path, "/statuses/") && strings.Contains(p.body, `"success"`) {
				return true
			}
		}
		return false
	})
	api.quiet(b)
	cpu = w.y.cpu(b).since(cpu)
	seen, hook := api.take(), hooks.take()
	begin, status := hook[0].at, time.Time{}
	for _, p := range seen {
		if status.IsZero() && p.method == http.MethodPost && strings.Contains(p.path, "/statuses/") {
			status = p.at
		}
	}
	if *timeline {
		show(b, begin, seen, hook, w.y)
		b.Logf("  CPU: %v", cpu)
	}
	m.push(b, status.Sub(begin), comment.Sub(begin), cpu.sum(), len(seen))
	return n
}

// manyOpen measures the memory of many open pull requests, and that nothing is polled.
func (w *world) manyOpen(b *testing.B, api *between) {
	b.Helper()
	api.quiet(b)
	api.take()
	time.Sleep(idleTime) // nothing may happen
	polled := len(api.take())
	before := w.y.memory(b)
	for i := range *openPulls {
		w.Create(b, forgetest.Pull{Branch: fmt.Sprintf("open-%d", i), Title: "Open", Author: forgetest.Alice,
			Write: map[string]string{fmt.Sprintf("stacks/s%03d/more.tf", (touched+i)%*fleet): "resource \"terraform_data\" \"more\" {}\n"}})
	}
	w.eventually(b, "all are planned", func() bool {
		planned := 0
		for _, p := range w.y.planner(b, w.ns).Status.PullRequests {
			if p.State == yubav1.PullRequestPlanned {
				planned++
			}
		}
		return planned == *openPulls+1
	})
	after := w.y.memory(b)
	api.quiet(b)
	api.take()
	time.Sleep(idleTime)
	polledThen := len(api.take())
	b.ReportMetric(float64(polled), "requests/idle")
	b.ReportMetric(float64(polledThen), "requests/idle-with-50-open")
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

// measured are the results of all pushes: seconds of the clock, and of CPUs.
type measured struct {
	first, comment, cpu, requests []float64
	init, plan, initCPU, planCPU  []float64
}

func (m *measured) plain(wall, cpu time.Duration) {
	m.init, m.initCPU = append(m.init, wall.Seconds()), append(m.initCPU, cpu.Seconds())
}

func (m *measured) plans(wall, cpu time.Duration) {
	m.plan, m.planCPU = append(m.plan, wall.Seconds()), append(m.planCPU, cpu.Seconds())
}

func (m *measured) push(b *testing.B, first, comment, cpu time.Duration, requests int) {
	b.Helper()
	i := len(m.first)
	m.first, m.comment = append(m.first, first.Seconds()), append(m.comment, comment.Seconds())
	m.cpu, m.requests = append(m.cpu, cpu.Seconds()), append(m.requests, float64(requests))
	b.Logf("push %d: status after %.2f s, comment after %.2f s, %.2f s of CPU, %d requests; plain init and plan %.2f s, %.2f s of CPU; plain plan %.2f s, %.2f s of CPU",
		i, m.first[i], m.comment[i], m.cpu[i], requests, m.init[i], m.initCPU[i], m.plan[i], m.planCPU[i])
}

func (m *measured) report(b *testing.B) {
	b.Helper()
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(m.first), "s/first-status")
	b.ReportMetric(median(m.comment), "s/comment")
	b.ReportMetric(median(m.init), "s/plain-init-and-plan")
	b.ReportMetric(median(m.plan), "s/plain-plan")
	b.ReportMetric(ratio(m.comment, m.init), "ratio-to-init-and-plan")
	b.ReportMetric(ratio(m.comment, m.plan), "ratio-to-plan")
	b.ReportMetric(ratio(m.cpu, m.initCPU), "cpu-ratio-to-init-and-plan")
	b.ReportMetric(ratio(m.cpu, m.planCPU), "cpu-ratio-to-plan")
	b.ReportMetric(median(m.requests), "requests/push")
	load, err := os.ReadFile("/proc/loadavg")
	b.Logf("the load of the machine: %s (%v)", strings.TrimSpace(string(load)), err)
}

// ratio is the median of the ratios of what was measured in turn.
func ratio(a, b []float64) float64 {
	all := make([]float64, len(a))
	for i := range a {
		all[i] = a[i] / b[i]
	}
	return median(all)
}

func median(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}
