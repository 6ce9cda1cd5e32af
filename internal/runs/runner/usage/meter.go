// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/confinement"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/process"
)

// The kernel limits single processes. The meter measures whole runs, and all runs of a namespace,
// and ends those over a limit before others notice.

const (
	// meterInterval is the interval of measurements. Shorter runs cost nothing.
	meterInterval = 250 * time.Millisecond
)

// Meter measures runs: processes and memory in one goroutine, slow disks in another.
type Meter struct {
	walls *confinement.Walls
	// disks are directories on all disks that runs write to, reserve what runs leave free there.
	disks   func() []string
	reserve int64
	// pod says that the run has the memory of the runner's Pod.
	pod bool

	mu       sync.Mutex
	accounts map[*account]bool
	// working and workingOnDisks say whether the goroutines run.
	working, workingOnDisks bool
}

// New makes a meter. The reserve of each disk is kept free: 0 for a share of it, below 0 for none. In a Pod, a run may have all memory that the runner does not
// need.
func New(walls *confinement.Walls, disks func() []string, reserve int64, pod bool) *Meter {
	return &Meter{walls: walls, disks: disks, reserve: reserve, pod: pod, accounts: map[*account]bool{}}
}

// Subject is a measured run, with several processes in sequence.
type Subject struct {
	id        string
	namespace string
	limits    run.Limits
	// held returns how many bytes the run has in memory that belong on disk.
	held func() int64
	// Overflowed is true once the run was ended for its disk use.
	Overflowed atomic.Bool
	// first is the first measured disk use; meter.mu guards it.
	first *DiskUse
}

// NewSubject makes a run without processes yet.
func NewSubject(id string, spec *run.Spec, held func() int64) *Subject {
	return &Subject{id: id, namespace: spec.Stack.Namespace, limits: spec.Limits, held: held}
}

// account has the measurements of a running process.
type account struct {
	of *Subject
	p  *process.Process
	// program identifies its processes.
	program confinement.Program
	// dirs are the measured directories. They are still measured after the run left them.
	dirs []string
	// over is the limit it was asked to stop for; the first goroutine's.
	over *overrun
	// disk is its use, grown the growth since it began; meter.mu guards them.
	disk, grown DiskUse
	diskDue     time.Time
}

// Watch measures a process and its run's directories until done is called.
func (m *Meter) Watch(s *Subject, p *process.Process, dirs []string) (done func()) {
	a := &account{of: s, p: p, program: confinement.Program{PID: p.PID, Mark: confinement.Mark(s.id)}, dirs: dirs}
	m.mu.Lock()
	m.accounts[a] = true
	m.begin(&m.working, m.measure)
	m.begin(&m.workingOnDisks, m.measureDisks)
	m.mu.Unlock()
	return func() {
		m.mu.Lock()
		delete(m.accounts, a)
		m.mu.Unlock()
	}
}

// begin starts a measuring goroutine unless it runs already. The caller holds m.mu.
func (m *Meter) begin(working *bool, measure func([]*account)) {
	if *working {
		return
	}
	*working = true
	go func() {
		ticker := time.NewTicker(meterInterval)
		defer ticker.Stop()
		for range ticker.C {
			m.mu.Lock()
			all := make([]*account, 0, len(m.accounts))
			for a := range m.accounts {
				all = append(all, a)
			}
			*working = len(all) > 0
			m.mu.Unlock()
			if len(all) == 0 {
				return
			}
			measure(all)
		}
	}()
}

// measure measures all runs, and ends those over a limit.
func (m *Meter) measure(all []*account) {
	now := time.Now()
	loads := m.loads(all)
	rest := m.Machine()
	for _, s := range judge(loads, rest) {
		a := all[s.at]
		a.over = &overrun{of: s.of, since: now, then: s.of.of(loads[s.at].taken), most: s.most}
		if s.disk {
			a.of.Overflowed.Store(true)
		}
		a.p.Exceed(s.reason)
	}
	memory := int64(0)
	for _, l := range loads {
		memory += l.taken.MemoryBytes
	}
	for i, a := range all {
		if a.over == nil {
			continue
		}
		switch a.over.next(now, loads[i].taken, rest.memory > 0 && memory > rest.memory) {
		case endEverything:
			a.p.Kill("its resource usage endangers the machine")
		case endOthers: // until it ended: killed processes may have started others
			m.walls.EndOthers(a.program)
		case letSave:
		}
	}
}

// loads asks the kernel what the processes and their descendants use.
func (m *Meter) loads(all []*account) []load {
	programs := make([]confinement.Program, len(all))
	for i, a := range all {
		programs[i] = a.program
	}
	loads := make([]load, len(all))
	usages := m.walls.Measure(programs, maxTasks)
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, a := range all {
		taken := run.Resources{Processes: usages[i].Processes, MemoryBytes: usages[i].Memory, DiskBytes: a.disk.Bytes, Files: a.disk.files}
		loads[i] = load{
			namespace: a.of.namespace, limits: limitsOf(a.of.limits, m.pod), taken: taken, grown: a.grown, deep: a.disk.deep, opened: a.disk.opened,
			condemned: a.over != nil,
		}
	}
	return loads
}

// maxTasks is where counting ends: no run may have as many.
const maxTasks = 1 << 16

// limitsOf completes a run's limits with those of this machine.
func limitsOf(l run.Limits, pod bool) run.Limits {
	if l.Run.MemoryBytes == 0 {
		l.Run.MemoryBytes = ownMemory(pod)
	}
	return l
}

// runnersMemory is what a runner needs of the memory of its Pod.
const runnersMemory = 40 << 20

// ownMemory is the memory that one run may have without another limit.
func ownMemory(pod bool) int64 {
	most := int64(machineMemory()) //nolint:gosec // no machine has 2^63 bytes
	if pod {
		return max(most-runnersMemory, most/2)
	}
	return most / 2
}

// roomForTasks is how far a run can exceed its processes: harmless, but visible to the meter.
const roomForTasks = 64

// roomForData is what Go programs map without using it, so that the meter acts before the kernel.
const roomForData = 256 << 20

// ProcessLimits are the kernel's limits per process. They exceed the measured ones, which explain.
func ProcessLimits(l run.Limits, walls confinement.Walls, pod bool) confinement.Limits {
	l = limitsOf(l, pod)
	memory, disk := uint64(max(0, l.Run.MemoryBytes)), uint64(max(0, l.Run.DiskBytes))    //nolint:gosec // above zero
	limits := confinement.Limits{Files: uint64(max(0, l.OpenFiles)), FileBytes: 2 * disk} //nolint:gosec // above zero
	if memory > 0 {
		limits.DataBytes = memory + memory/4 + roomForData
	}
	if most := l.Run.Processes; most > 0 && (walls.Users || walls.Alone()) { // otherwise the server and all runs would be counted, too
		limits.Processes = uint64(most) + roomForTasks //nolint:gosec // above zero
	}
	return limits
}
