// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package meter

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/confinement"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/process"
)

// The kernel limits what one process may take. What a run takes with all that it starts, and what the runs of a namespace
// take together, is measured while they work: who takes too much is ended before others notice.

const (
	// meterInterval is how often it is measured. Runs that are shorter cost nothing.
	meterInterval = 250 * time.Millisecond
)

// Meter measures what runs take: processes and memory in one goroutine, disks, which take longer, in another.
type Meter struct {
	walls *confinement.Walls
	// disks are directories on all disks that runs write to, reserve what they leave free there; see machine.
	disks   func() []string
	reserve int64

	mu       sync.Mutex
	accounts map[*account]bool
	// working and workingOnDisks say whether the goroutines run.
	working, workingOnDisks bool
}

// New is a meter with nothing to measure. Disks names directories on all disks that runs write to; of each a reserve is kept
// free: 0 for a share of the disk, below 0 for none.
func New(walls *confinement.Walls, disks func() []string, reserve int64) *Meter {
	return &Meter{walls: walls, disks: disks, reserve: reserve, accounts: map[*account]bool{}}
}

// Subject is a run that is measured. It has several processes, one after the other.
type Subject struct {
	id        string
	namespace string
	limits    run.Limits
	// held says how many bytes the run has in memory that belong on disk.
	held func() int64
	// Overflowed is true once the run was ended for what it wrote.
	Overflowed atomic.Bool
	// first is what was on disk when it was measured first; meter.mu guards it.
	first *DiskUse
}

// NewSubject is a run that has had no process yet.
func NewSubject(id string, spec *run.Spec, held func() int64) *Subject {
	return &Subject{id: id, namespace: spec.Stack.Namespace, limits: spec.Limits, held: held}
}

// account is what is known of a process at work.
type account struct {
	of *Subject
	p  *process.Process
	// program is how its processes are found.
	program confinement.Program
	// dirs are what is measured of disks. The job may have left its working directory while they still are.
	dirs []string
	// over is what it was told to stop for; the first goroutine's.
	over *overrun
	// disk is what it takes of disks, since it began more than grown; meter.mu guards them. diskDue is the second goroutine's.
	disk, grown DiskUse
	diskDue     time.Time
}

// Watch measures a process, and the directories that its run writes to, until the function that it returns is called.
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

// begin starts a goroutine, unless it is at work, that measures as long as there is something to measure. m.mu is held.
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

// measure measures everybody, and ends those who take too much.
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
			a.p.Kill("what it takes endangers the machine")
		case endOthers: // until it has ended: what was ended may have started others meanwhile
			m.walls.EndOthers(a.program)
		case letSave:
		}
	}
}

// loads asks the kernel what the processes, and all that they started, take.
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
			namespace: a.of.namespace, limits: limitsOf(a.of.limits), taken: taken, grown: a.grown, deep: a.disk.deep, opened: a.disk.opened,
			condemned: a.over != nil,
		}
	}
	return loads
}

// maxTasks is where counting ends: nobody may have as many.
const maxTasks = 1 << 16

// limitsOf are the limits of a run, with what is known of the machine only here.
func limitsOf(l run.Limits) run.Limits {
	if l.Run.MemoryBytes == 0 {
		l.Run.MemoryBytes = int64(machineMemory() / 2) //nolint:gosec // no machine has 2^63 bytes
	}
	return l
}

// roomForTasks is how many processes more than it may have a run can start before the kernel refuses: few enough to bound what
// it takes, and enough for the meter to see that it was too many.
const roomForTasks = 64

// roomForData is what a Go program has mapped beside what it has in memory: below that the kernel would end a small one before
// the meter can say why.
const roomForData = 256 << 20

// ProcessLimits are those that the kernel keeps for each process. They leave room above those that are measured, which
// say what was wrong.
func ProcessLimits(l run.Limits, walls confinement.Walls) confinement.Limits {
	l = limitsOf(l)
	memory, disk := uint64(max(0, l.Run.MemoryBytes)), uint64(max(0, l.Run.DiskBytes))    //nolint:gosec // above zero
	limits := confinement.Limits{Files: uint64(max(0, l.OpenFiles)), FileBytes: 2 * disk} //nolint:gosec // above zero
	if memory > 0 {
		limits.DataBytes = memory + memory/4 + roomForData
	}
	if most := l.Run.Processes; most > 0 && (walls.Users || walls.Alone()) { // elsewhere the server and everybody's runs would be counted, too
		limits.Processes = uint64(most) + roomForTasks //nolint:gosec // above zero
	}
	return limits
}
