// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

func TestWhoTakesTooMuchIsEnded(t *testing.T) {
	const gib = 1 << 30
	limits := run.Limits{Run: run.Resources{Processes: 100, MemoryBytes: 4 * gib, DiskBytes: 10 * gib, Files: 1000}, Namespace: run.Resources{Processes: 150, MemoryBytes: 6 * gib, DiskBytes: 12 * gib}}
	of := func(namespace string, processes, memory, disk int64) load {
		return load{namespace: namespace, limits: limits, taken: run.Resources{Processes: processes, MemoryBytes: memory * gib, DiskBytes: disk * gib}, grown: diskUse{bytes: disk * gib}}
	}
	grew := func(l load, grown int64) load { l.grown.bytes = grown; return l }
	made := func(l load, files int64) load { l.taken.Files, l.grown.files = files, files; return l }
	deep := func(l load) load { l.deep = true; return l }
	opened := func(l load) load { l.opened = true; return l }
	ending := func(l load) load { l.condemned = true; return l }
	unlimited := func(l load) load { l.limits = run.Limits{}; return l }
	plenty := machine{memory: 64 * gib, tasks: 3000, disk: room{50 * gib, gib, "/work"}, files: room{1 << 20, 1 << 10, "/work"}}
	for name, c := range map[string]struct {
		loads []load
		rest  machine
		want  []string
	}{
		"nobody":                           {nil, plenty, nil},
		"all is well":                      {[]load{of("a", 50, 2, 5), of("b", 100, 4, 10)}, plenty, nil},
		"memory of one":                    {[]load{of("a", 1, 5, 1), of("b", 1, 1, 1)}, plenty, []string{"0: it has 5120 MiB in memory; a run may have 4096 MiB in memory (--run-memory)"}},
		"processes of one":                 {[]load{of("a", 1, 1, 1), of("b", 101, 1, 1)}, plenty, []string{"1: it has 101 processes and threads; a run may have 100 processes and threads (--run-processes)"}},
		"disk of one":                      {[]load{of("a", 1, 1, 11)}, plenty, []string{"0 disk: it has 11264 MiB in its directories; a run may have 10240 MiB in its directories (--run-disk)"}},
		"two that take too much each":      {[]load{of("a", 101, 1, 1), of("b", 1, 5, 1)}, plenty, []string{"1: it has 5120 MiB in memory; a run may have 4096 MiB in memory (--run-memory)", "0: it has 101 processes and threads; a run may have 100 processes and threads (--run-processes)"}},
		"one is ended for one thing alone": {[]load{of("a", 101, 5, 11)}, plenty, []string{"0: it has 5120 MiB in memory; a run may have 4096 MiB in memory (--run-memory)"}},
		"a namespace together":             {[]load{of("a", 1, 3, 1), of("a", 1, 4, 1), of("b", 1, 4, 1)}, plenty, []string{"1: the runs of namespace a have 7168 MiB in memory together, this one the most; they may have 6144 MiB in memory (--namespace-memory)"}},
		"as many of a namespace as it takes": {[]load{of("a", 1, 3, 1), of("a", 1, 4, 1), of("a", 1, 4, 1)}, plenty, []string{
			"1: the runs of namespace a have 11264 MiB in memory together, this one the most; they may have 6144 MiB in memory (--namespace-memory)",
			"2: the runs of namespace a have 7168 MiB in memory together, this one the most; they may have 6144 MiB in memory (--namespace-memory)"}},
		"what is ended already counts no more": {[]load{ending(of("a", 500, 50, 90)), of("a", 1, 4, 1)}, plenty, nil},
		"all together":                         {[]load{of("a", 1, 3, 1), of("b", 1, 4, 1)}, machine{memory: 6 * gib}, []string{"1: all runs have 7168 MiB in memory together, this one the most; they may have 6144 MiB in memory, because the rest is the server's"}},
		"all processes together":               {[]load{of("a", 80, 3, 1), of("b", 90, 4, 1)}, machine{tasks: 150}, []string{"1: all runs have 170 processes and threads together, this one the most; they may have 150 processes and threads, because the rest is the server's"}},
		"files of one":                         {[]load{of("a", 1, 1, 1), made(of("b", 1, 1, 1), 1001)}, plenty, []string{"1 disk: it has 1001 files in its directories; a run may have 1000 files in its directories (--run-files)"}},
		"directories that are too deep":        {[]load{deep(of("a", 1, 1, 1)), of("b", 1, 1, 1)}, plenty, []string{"0 disk: it has directories more than 128 deep in each other"}},
		"open files that are too many":         {[]load{opened(of("a", 1, 1, 1)), of("b", 1, 1, 1)}, plenty, []string{"0 disk: its processes have more than 100000 open files together"}},
		"no more files, by others":             {[]load{made(of("a", 1, 1, 1), 900)}, machine{files: room{10, 50_000, "/work"}}, nil},
		"no more files, by one":                {[]load{unlimited(made(of("a", 1, 1, 1), 20_000))}, machine{files: room{10, 50_000, "/work"}}, []string{"0 disk: only 10 files are free in /work, and this run has added the most to it, 20000 files; 50000 files are kept for the server"}},
		"a full disk":                          {[]load{of("a", 1, 1, 1), of("b", 1, 1, 2)}, machine{disk: room{gib / 2, gib, "/work"}}, []string{"1 disk: only 512 MiB are free in /work, and this run has added the most to it, 2048 MiB; 1024 MiB are kept for the server"}},
		"a disk filled by others":              {[]load{grew(of("a", 1, 1, 1), 100<<20), grew(of("b", 1, 1, 1), 127<<20)}, machine{disk: room{gib / 2, gib, "/work"}}, nil},
		"a disk filled by one for a quarter":   {[]load{grew(of("a", 1, 1, 1), 100<<20), grew(of("b", 1, 1, 1), 128<<20)}, machine{disk: room{gib / 2, gib, "/work"}}, []string{"1 disk: only 512 MiB are free in /work, and this run has added the most to it, 128 MiB; 1024 MiB are kept for the server"}},
		"a disk that lacks a little":           {[]load{grew(of("a", 1, 1, 1), 15<<20)}, machine{disk: room{gib - 1, gib, "/work"}}, nil},
		"a full disk that will be less full":   {[]load{of("a", 1, 1, 1), ending(of("b", 1, 1, 2))}, machine{disk: room{gib / 2, gib, "/work"}}, nil},
		"a full disk that nobody has filled":   {[]load{of("a", 1, 1, 0)}, machine{disk: room{gib / 2, gib, "/work"}}, nil},
		"no limits":                            {[]load{unlimited(of("a", 1000, 1000, 1000))}, machine{}, nil},
	} {
		var got []string
		for _, s := range judge(c.loads, c.rest) {
			disk := ""
			if s.disk {
				disk = " disk"
			}
			got = append(got, fmt.Sprintf("%d%s: %s", s.at, disk, s.reason))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestPressureOnWhoTakesTooMuch(t *testing.T) {
	const mib = 1 << 20
	began := time.Unix(1_000_000, 0)
	inMemory := func(mibs int64) run.Resources { return run.Resources{MemoryBytes: mibs * mib} }
	for name, c := range map[string]struct {
		of     resource
		after  time.Duration
		ended  time.Duration // before, if at all
		taken  run.Resources
		scarce bool
		want   pressure
	}{
		"a little over":                             {of: ofMemory, taken: inMemory(110), want: letSave},
		"growing, a little later":                   {of: ofMemory, after: time.Second, taken: inMemory(115), want: letSave},
		"growing, two seconds later":                {of: ofMemory, after: 2 * time.Second, taken: inMemory(111), want: endOthers},
		"not growing, much later":                   {of: ofMemory, after: 20 * time.Second, taken: inMemory(110), want: letSave},
		"shrinking":                                 {of: ofMemory, after: 20 * time.Second, taken: inMemory(90), want: letSave},
		"far over":                                  {of: ofMemory, taken: inMemory(126), want: endOthers},
		"far over, and what it started has ended":   {of: ofMemory, after: 3 * time.Second, ended: time.Second, taken: inMemory(126), want: endEverything},
		"far over, and what it started is ending":   {of: ofMemory, after: 3 * time.Second, ended: time.Second / 2, taken: inMemory(126), want: endOthers},
		"enough was freed":                          {of: ofMemory, after: 3 * time.Second, ended: time.Second, taken: inMemory(120), want: endOthers},
		"the machine has no more":                   {of: ofMemory, taken: inMemory(110), scarce: true, want: endOthers},
		"the machine has no more, even then":        {of: ofMemory, after: time.Second, ended: time.Second, taken: inMemory(60), scarce: true, want: endEverything},
		"too many processes":                        {of: ofProcesses, taken: run.Resources{Processes: 101 * mib}, want: endOthers},
		"a full disk while memory is scarce":        {of: ofDisk, taken: run.Resources{DiskBytes: 110 * mib}, scarce: true, want: letSave},
		"a disk that gets fuller":                   {of: ofDisk, after: 2 * time.Second, taken: run.Resources{DiskBytes: 120 * mib}, want: endOthers},
		"a disk that is far over, others had ended": {of: ofDisk, after: 9 * time.Second, ended: 5 * time.Second, taken: run.Resources{DiskBytes: 300 * mib}, want: endOthers},
	} {
		o := &overrun{of: c.of, since: began, then: 110 * mib, most: 100 * mib}
		now := began.Add(c.after)
		if c.ended > 0 {
			o.ended = now.Add(-c.ended)
		}
		if got := o.next(now, c.taken, c.scarce); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// greedy programs take as much as they get; each leaves tofu waiting for what it has started.
var greedy = map[string]struct {
	command string
	limit   func(*run.Limits)
	says    string
}{
	"memory": {
		// 100 MB a second of a line that does not end, in a process that nobody waits for.
		`(while :; do head -c 20000000 /dev/zero; sleep 0.2; done | tail) >/dev/null 2>&1 & sleep 60`,
		func(l *run.Limits) { l.Run.MemoryBytes = 300 << 20 }, "(--run-memory)",
	},
	"processes": {
		// The kernel refuses the last ones, and the shell that asks for them ends.
		`(for i in $(seq 300); do sleep 60 & done) >/dev/null 2>&1; exec sleep 60`,
		func(l *run.Limits) { l.Run.Processes = 150 }, "(--run-processes)",
	},
	"disk": {
		`i=0; while :; do i=$((i+1)); head -c 1000000 /dev/urandom > fill-$i || exit 1; done`,
		func(l *run.Limits) { l.Run.DiskBytes = 64 << 20 }, "(--run-disk)",
	},
	"one large file": {
		`head -c 300000000 /dev/zero > fill`,
		func(l *run.Limits) { l.Run.DiskBytes = 64 << 20 }, "(--run-disk)",
	},
	"files": {
		`mkdir -p many; cd many; for i in $(seq 100); do mkdir d$i; touch d$i/f$(seq -s ' '"d$i/f" 100); done; exec sleep 60`,
		func(l *run.Limits) { l.Run.Files = 5000 }, "(--run-files)",
	},
	"deep directories": {
		`for i in $(seq 200); do mkdir d; cd d; done; exec sleep 60`,
		func(*run.Limits) {}, "128 deep",
	},
	"files without names": {
		`for i in 3 4 5 6 7 8; do eval "exec $i>hole; rm hole; head -c 20000000 /dev/zero >&$i"; done; exec sleep 60`,
		func(l *run.Limits) { l.Run.DiskBytes = 64 << 20 }, "(--run-disk)",
	},
	"disk in a locked directory": {
		`mkdir locked && cd locked && chmod 0300 . && i=0; while :; do i=$((i+1)); head -c 1000000 /dev/urandom > fill-$i || exit 1; done`,
		func(l *run.Limits) { l.Run.DiskBytes = 64 << 20 }, "(--run-disk)",
	},
}

// A run that takes too much is ended with a class and a reason of its own, tofu keeps its state, what it wrote is cleared, and
// the next run of the same stack finds nothing of it.
func TestGreedyProgramsAreEnded(t *testing.T) {
	for name, c := range greedy {
		t.Run(name, func(t *testing.T) {
			b := newBench(t).start()
			r := b.stack("greedy", run.OperationPlanAndApply, program(fmt.Sprintf(`
resource "terraform_data" "kept" {}
resource "terraform_data" "greedy" {
  depends_on = [terraform_data.kept]
  provisioner "local-exec" { command = %q }
}`, c.command)))
			c.limit(&r.spec.Limits)
			start := time.Now()
			result := b.do(r)
			if result.Class != run.FailureLimit || !strings.Contains(result.Error, c.says) || !result.ApplyStarted {
				t.Errorf("%s %s: %s", result.Outcome, result.Class, result.Error)
			}
			if took := time.Since(start); took > 55*time.Second {
				t.Errorf("it took %s", took)
			}
			if !strings.Contains(string(r.lastState()), `"kept"`) {
				t.Errorf("the state is lost: %q; the run ended with %s\n%s", r.lastState(), result.Error, r.log)
			}
			left, err := filepath.Glob(filepath.Join(b.opts.WorkRoot, "team", "greedy", sourceDir, "fill*"))
			if err != nil || len(left) > 0 {
				t.Errorf("left are %v, %v", left, err)
			}
			if _, err := os.Stat(filepath.Join(b.opts.WorkRoot, "team", "greedy", sourceDir, "locked")); err == nil {
				t.Error("the locked directory is left")
			}
		})
	}
}

// Runs of one namespace share what it may have; another namespace's go on.
func TestNamespacesShareWhatTheyMayHave(t *testing.T) {
	b := newBench(t).start()
	taker := func(name, namespace string, sleepers int) *fakeRun {
		r := b.stack(name, run.OperationPlanAndApply, program(fmt.Sprintf(`
resource "terraform_data" "a" {
  provisioner "local-exec" { command = "for i in $(seq %d); do sleep 600 & done >/dev/null 2>&1; cat %s" }
}`, sleepers, b.pipe(name))))
		r.spec.Stack.Namespace = namespace
		r.spec.Limits.Namespace.Processes = 200
		return b.server.submit(r)
	}
	small, large, other := taker("small", "team", 80), taker("large", "team", 150), taker("other", "elsewhere", 150)
	if result := b.server.finished(large); result.Class != run.FailureLimit || !strings.Contains(result.Error, "(--namespace-processes)") {
		t.Errorf("the largest: %s: %s", result.Class, result.Error)
	}
	for _, r := range []*fakeRun{small, other} {
		if err := os.WriteFile(filepath.Join(b.opts.ProviderMirror, r.spec.Stack.Name), nil, 0); err != nil { // it waits for a reader
			t.Fatal(err)
		}
		if result := b.server.finished(r); result.Outcome != run.OutcomeSucceeded {
			t.Errorf("%s: %s", r.spec.Stack, result.Error)
		}
	}
}

// A run may leave its working directory while its disk is measured.
func TestARunThatHasLeftIsMeasured(t *testing.T) {
	r := newRunner(Options{Dir: t.TempDir(), Capacity: 1})
	j := r.newJob(run.NewID(time.Now()), "")
	j.space = &workspace{base: t.TempDir()}
	if err := os.WriteFile(filepath.Join(j.space.base, "left"), make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	a := &account{of: j.measured(), dirs: j.measuredDirs()}
	j.space = nil
	r.meter.measureDisks([]*account{a})
	if a.disk.bytes < 1<<20 {
		t.Errorf("%+v", a.disk)
	}
}
