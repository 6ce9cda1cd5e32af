// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sys/unix"

	"github.com/yuba-dev/yuba/internal/runs/executor"
	"github.com/yuba-dev/yuba/internal/runs/queue"
)

// live holds the metrics that are determined at each scrape.
type live struct{ opts Options }

var descs = descsOf(&buildInfo, &leads, &queueRuns, &queueOldest, &atWork, &prepared, &applying, &places, &unstored, &runnerUp, &runnerMemory, &runnerCPU,
	&objectsReady, &objectsHeld, &objectsFail, &stacksWaiting, &stacksDrifted, &stacksLocked, &breakersOpen, &stacksOut, &storePackages, &storeSize, &moduleStacks, &noticeStacks, &diskFree, &diskSize)

// sample sends one value.
type sample func(f *family, value float64, labels ...string)

func sender(ch chan<- prometheus.Metric, descs map[*family]*prometheus.Desc) sample {
	return func(f *family, value float64, labels ...string) {
		t := prometheus.GaugeValue
		if f.kind == counter {
			t = prometheus.CounterValue
		}
		ch <- prometheus.MustNewConstMetric(descs[f], t, value, labels...)
	}
}

// Describe implements prometheus.Collector.
func (l *live) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range descs {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (l *live) Collect(ch chan<- prometheus.Metric) {
	send := sender(ch, descs)
	send(&buildInfo, 1, l.opts.Version, l.opts.ToolVersion, runtime.Version())
	send(&leads, 1)
	send(&places, float64(l.opts.Places))
	now := time.Now()
	if l.opts.Figures != nil {
		f := l.opts.Figures()
		collectQueue(send, f, now)
		collectRunner(send, f.Runner, now)
	}
	if l.opts.Objects != nil {
		collectObjects(send, l.opts.Objects)
	}
	if l.opts.Modules != nil {
		collectModules(send, l.opts.Modules())
	}
	if l.opts.Circuits != nil {
		c := l.opts.Circuits()
		send(&breakersOpen, float64(c.Open), "server")
		send(&breakersOpen, float64(c.Kept), "person")
		send(&stacksOut, float64(c.Failing))
	}
	if l.opts.Providers != nil {
		packages, size := l.opts.Providers()
		send(&storePackages, float64(packages))
		send(&storeSize, float64(size))
	}
	if l.opts.DataDir != "" {
		collectDisk(send, l.opts.DataDir)
	}
}

func collectQueue(send sample, f executor.Figures, now time.Time) {
	type key struct{ class, namespace string }
	namespaces := limited{limit: maxNamespaces}
	waiting, oldest := map[key]int{}, map[queue.Class]time.Time{}
	for _, line := range f.Lines {
		waiting[key{line.Class.String(), namespaces.name(line.Group)}] += line.Waiting
		if first, ok := oldest[line.Class]; !ok || line.Oldest.Before(first) {
			oldest[line.Class] = line.Oldest
		}
	}
	for k, n := range waiting {
		send(&queueRuns, float64(n), k.class, k.namespace)
	}
	for _, class := range []queue.Class{queue.Urgent, queue.Changed, queue.Review, queue.Drift} {
		age := 0.0
		if first, ok := oldest[class]; ok {
			age = seconds(now.Sub(first))
		}
		send(&queueOldest, age, class.String())
	}
	for w, n := range f.AtWork {
		send(&atWork, float64(n), w.Namespace, string(w.Operation), string(w.Purpose))
	}
	send(&prepared, float64(f.Prepared))
	send(&applying, float64(f.Applying))
	send(&unstored, float64(f.Unstored))
}

// RunnerPatience is how long a silent runner counts as alive: longer than any poll.
const RunnerPatience = time.Minute

// Alive reports whether the runner is alive.
func Alive(r executor.Runner, now time.Time) bool {
	return r.Asking || !r.Seen.IsZero() && now.Sub(r.Seen) < RunnerPatience
}

func collectRunner(send sample, r executor.Runner, now time.Time) {
	up := Alive(r, now)
	send(&runnerUp, number(up))
	if r.Usage == nil || !up {
		return
	}
	send(&runnerMemory, float64(r.Usage.MemoryBytes))
	send(&runnerCPU, seconds(time.Duration(r.Usage.CPU)), "runner")
	send(&runnerCPU, seconds(time.Duration(r.Usage.ChildCPU)), "tools")
}

func collectDisk(send sample, dir string) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return // their absence from the scrape says the same
	}
	send(&diskFree, float64(s.Bavail)*float64(s.Bsize))
	send(&diskSize, float64(s.Blocks)*float64(s.Bsize))
}
