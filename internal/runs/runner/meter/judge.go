// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package meter

import (
	"fmt"
	"slices"

	"github.com/yuba-dev/yuba/internal/kit/filetree"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// load is what a run takes, and may take.
type load struct {
	namespace string
	limits    run.Limits
	taken     run.Resources
	// grown is what it has added to the disk; deep says that its directories are too deep to be measured.
	grown DiskUse
	deep  bool
	// opened says that it has more files open than are looked at: some may hold more of the disk than is known.
	opened bool
	// condemned says that it is being ended already: what it takes is nobody's fault any more.
	condemned bool
}

// sentence says which run is ended, and why: for what it takes of a resource, of which it may take so much. It is for its disk
// when what it wrote has to go, too.
type sentence struct {
	at     int
	reason string
	of     resource
	most   int64
	disk   bool
}

// resource is something that runs take.
type resource struct {
	of   func(run.Resources) int64
	text func(n int64) string
	name string
	// disk says that it is on disks, where it stays after the run.
	disk bool
}

// The names of resources, as in flags.
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

// over says what is wrong with a run that takes more than a run may.
func (r resource) over(taken, most int64) string {
	return fmt.Sprintf("it has %s; a run may have %s (--run-%s)", r.text(taken), r.text(most), r.name)
}

// FileCount writes a number of files.
func FileCount(n int64) string { return fmt.Sprintf("%d files", n) }

// MiB writes a number of bytes.
func MiB(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }

// judge says which runs have to end. A run that takes more than a run may is always among them. When runs together take more
// than they may, the one that takes the most of it is, and the others go on.
func judge(loads []load, m Machine) []sentence {
	c := court{loads: slices.Clone(loads)}
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

// court is a judgement in the making.
type court struct {
	loads     []load
	sentences []sentence
}

func (c *court) end(at int, r resource, most int64, format string, args ...any) {
	c.loads[at].condemned = true
	c.sentences = append(c.sentences, sentence{at: at, reason: fmt.Sprintf(format, args...), of: r, most: most, disk: r.disk})
}

// eachAlone finds the runs that take more than any run may.
func (c *court) eachAlone() {
	for _, r := range resources {
		for i, l := range c.loads {
			if most := r.of(l.limits.Run); !l.condemned && most > 0 && r.of(l.taken) > most {
				c.end(i, r, most, "%s", r.over(r.of(l.taken), most))
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

// together ends the heaviest of the runs that share something, until the others fit.
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

// fullDisk ends the run that has added the most to a disk with too little left. While one is being ended, nobody else is: what
// it wrote goes with it.
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
		c.end(at, r, r.of(c.loads[at].taken), "only %s are free in %s, and this run has added the most to it, %s; %s are kept for the server",
			text(left.Free), left.Dir, text(grown(c.loads[at])), text(left.Reserve))
	}
}

// notable is the growth below which no run is ended for a full disk, notableFiles the same for files: ending it would free
// next to nothing.
const (
	notable      = 16 << 20
	notableFiles = 10_000
)

// explains says whether ending a run that has grown so much helps a disk that lacks so much. Where logs or other programs have
// filled the disk, ending honest runs in the middle of their applies would make nothing better.
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
