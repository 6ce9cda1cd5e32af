// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"fmt"
	"slices"

	"github.com/yuba-dev/yuba/internal/kit/filetree"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// load is a run's use and limits.
type load struct {
	namespace string
	limits    run.Limits
	taken     run.Resources
	// grown is the disk use added; deep is true if directories are nested deeper than measured.
	grown DiskUse
	deep  bool
	// opened is true if more files are open than examined, so more disk may be in use.
	opened bool
	// condemned is true if the run is already ending: its use no longer counts.
	condemned bool
}

// sentence says which run ends and why. For disk, its files must be removed, too.
type sentence struct {
	at     int
	reason string
	of     resource
	most   int64
	disk   bool
}

// resource is something that runs use.
type resource struct {
	of   func(run.Resources) int64
	text func(n int64) string
	name string
	// disk is true for disk space, which stays in use after the run.
	disk bool
}

// Names of resources, as in flags.
const (
	memoryName    = "memory"
	processesName = "processes"
)

var (
	ofMemory    = resource{func(r run.Resources) int64 { return r.MemoryBytes }, func(n int64) string { return MiB(n) + " in memory" }, memoryName, false}
	ofProcesses = resource{func(r run.Resources) int64 { return r.Processes }, func(n int64) string { return fmt.Sprintf("%d processes and threads", n) }, processesName, false}
	ofDisk      = resource{func(r run.Resources) int64 { return r.DiskBytes }, func(n int64) string { return MiB(n) + " in its directories" }, "disk", true}
	ofFiles     = resource{func(r run.Resources) int64 { return r.Files }, func(n int64) string { return FileCount(n) + " in its directories" }, "files", true}
	resources   = []resource{ofMemory, ofProcesses, ofDisk, ofFiles}
)

// over describes a run that exceeds its own limit.
func (r resource) over(taken, most, podMemory int64) string {
	if podMemory > 0 && r.name == memoryName {
		return fmt.Sprintf("it uses %s; its Pod has %s, of which the runner needs %s (spec.runnerPodTemplate.spec.resources.limits.memory)",
			r.text(taken), MiB(podMemory), MiB(podMemory-most))
	}
	return fmt.Sprintf("it uses %s; the limit is %s (--run-%s)", r.text(taken), r.text(most), r.name)
}

// FileCount formats a number of files.
func FileCount(n int64) string { return fmt.Sprintf("%d files", n) }

// MiB formats a number of bytes.
func MiB(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }

// judge ends runs above their own limits, then the heaviest of those above a shared limit.
func judge(loads []load, m Machine) []sentence {
	c := court{loads: slices.Clone(loads), podMemory: m.podMemory}
	c.eachAlone()
	for _, r := range resources {
		for _, namespace := range namespacesOf(loads) {
			c.together(r, func(l load) (int64, bool) { return r.of(l.limits.Namespace), l.namespace == namespace }, "the runs of namespace "+namespace, " (--namespace-"+r.name+")")
		}
	}
	c.together(ofMemory, func(load) (int64, bool) { return m.memory, true }, "all runs", theRest)
	c.together(ofProcesses, func(load) (int64, bool) { return m.tasks, true }, "all runs", theRest)
	c.fullDisk(ofDisk, m.Disk, func(l load) int64 { return l.grown.Bytes }, MiB, notable)
	c.fullDisk(ofFiles, m.Files, func(l load) int64 { return l.grown.files }, FileCount, notableFiles)
	return c.sentences
}

const theRest = ", because the rest is the server's"

// court is a judgement in progress.
type court struct {
	loads     []load
	sentences []sentence
	podMemory int64
}

func (c *court) end(at int, r resource, most int64, format string, args ...any) {
	c.loads[at].condemned = true
	c.sentences = append(c.sentences, sentence{at: at, reason: fmt.Sprintf(format, args...), of: r, most: most, disk: r.disk})
}

// eachAlone finds the runs that exceed their own limits.
func (c *court) eachAlone() {
	for _, r := range resources {
		for i, l := range c.loads {
			if most := r.of(l.limits.Run); !l.condemned && most > 0 && r.of(l.taken) > most {
				c.end(i, r, most, "%s", r.over(r.of(l.taken), most, c.podMemory))
			}
		}
	}
	for i, l := range c.loads {
		if l.deep && !l.condemned {
			c.end(i, ofFiles, l.taken.Files, "it has directories more than %d deep in each other", filetree.MaxDepth)
		}
		if l.opened && !c.loads[i].condemned {
			c.end(i, ofFiles, l.taken.Files, "its processes have more than %d open files together", maxDescriptors)
		}
	}
}

// together ends the heaviest runs that share a resource until the others fit.
func (c *court) together(r resource, share func(load) (most int64, counts bool), who, why string) {
	for {
		var sum, most int64
		at := -1
		for i, l := range c.loads {
			limit, counts := share(l)
			if l.condemned || !counts || limit <= 0 {
				continue
			}
			sum += r.of(l.taken)
			if at < 0 || r.of(l.taken) > r.of(c.loads[at].taken) {
				at, most = i, limit
			}
		}
		if at < 0 || sum <= most {
			return
		}
		c.end(at, r, r.of(c.loads[at].taken), "%s have %s together, this one the most; they may have %s%s", who, r.text(sum), r.text(most), why)
	}
}

// fullDisk ends the run that added most to a full disk, one at a time: its files go, too.
func (c *court) fullDisk(r resource, left Room, grown func(load) int64, text func(int64) string, least int64) {
	at := -1
	for i, l := range c.loads {
		if l.condemned {
			return
		}
		if at < 0 || grown(l) > grown(c.loads[at]) {
			at = i
		}
	}
	if at >= 0 && explains(grown(c.loads[at]), left.Lacking(), least) {
		c.end(at, r, r.of(c.loads[at].taken), "only %s are free in %s, and this run has added the most to it, %s; %s are reserved for the server",
			text(left.Free), left.Dir, text(grown(c.loads[at])), text(left.Reserve))
	}
}

// notable is the growth below which ending a run frees too little; notableFiles the same for files.
const (
	notable      = 16 << 20
	notableFiles = 10_000
)

// explains reports whether ending a run that has grown so much helps. If logs or other programs
// filled the disk, ending runs during their applies would not.
func explains(grown, lacking, least int64) bool {
	return lacking > 0 && grown >= least && grown >= lacking/4
}

func namespacesOf(loads []load) []string {
	var all []string
	for _, l := range loads {
		if !slices.Contains(all, l.namespace) {
			all = append(all, l.namespace)
		}
	}
	return all
}
