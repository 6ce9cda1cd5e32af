// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/runs/confinement"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

func TestWhoTakesTooMuchIsEnded(t *testing.T) {
	const gib = 1 << 30
	limits := run.Limits{Run: run.Resources{Processes: 100, MemoryBytes: 4 * gib, DiskBytes: 10 * gib, Files: 1000}, Namespace: run.Resources{Processes: 150, MemoryBytes: 6 * gib, DiskBytes: 12 * gib}}
	of := func(namespace string, processes, memory, disk int64) load {
		return load{namespace: namespace, limits: limits, taken: run.Resources{Processes: processes, MemoryBytes: memory * gib, DiskBytes: disk * gib}, grown: DiskUse{Bytes: disk * gib}}
	}
	grew := func(l load, grown int64) load { l.grown.Bytes = grown; return l }
	made := func(l load, files int64) load { l.taken.Files, l.grown.files = files, files; return l }
	deep := func(l load) load { l.deep = true; return l }
	opened := func(l load) load { l.opened = true; return l }
	ending := func(l load) load { l.condemned = true; return l }
	unlimited := func(l load) load { l.limits = run.Limits{}; return l }
	plenty := Machine{memory: 64 * gib, tasks: 3000, Disk: Room{50 * gib, gib, "/work"}, Files: Room{1 << 20, 1 << 10, "/work"}}
	for name, c := range map[string]struct {
		loads []load
		rest  Machine
		want  []string
	}{
		"nobody":                           {nil, plenty, nil},
		"all is well":                      {[]load{of("a", 50, 2, 5), of("b", 100, 4, 10)}, plenty, nil},
		"memory of one":                    {[]load{of("a", 1, 5, 1), of("b", 1, 1, 1)}, plenty, []string{"0: it uses 5120 MiB in memory; the limit is 4096 MiB in memory (--run-memory)"}},
		"processes of one":                 {[]load{of("a", 1, 1, 1), of("b", 101, 1, 1)}, plenty, []string{"1: it uses 101 processes and threads; the limit is 100 processes and threads (--run-processes)"}},
		"disk of one":                      {[]load{of("a", 1, 1, 11)}, plenty, []string{"0 disk: it uses 11264 MiB in its directories; the limit is 10240 MiB in its directories (--run-disk)"}},
		"two that take too much each":      {[]load{of("a", 101, 1, 1), of("b", 1, 5, 1)}, plenty, []string{"1: it uses 5120 MiB in memory; the limit is 4096 MiB in memory (--run-memory)", "0: it uses 101 processes and threads; the limit is 100 processes and threads (--run-processes)"}},
		"one is ended for one thing alone": {[]load{of("a", 101, 5, 11)}, plenty, []string{"0: it uses 5120 MiB in memory; the limit is 4096 MiB in memory (--run-memory)"}},
		"a namespace together":             {[]load{of("a", 1, 3, 1), of("a", 1, 4, 1), of("b", 1, 4, 1)}, plenty, []string{"1: the runs of namespace a have 7168 MiB in memory together, this one the most; they may have 6144 MiB in memory (--namespace-memory)"}},
		"as many of a namespace as it takes": {[]load{of("a", 1, 3, 1), of("a", 1, 4, 1), of("a", 1, 4, 1)}, plenty, []string{
			"1: the runs of namespace a have 11264 MiB in memory together, this one the most; they may have 6144 MiB in memory (--namespace-memory)",
			"2: the runs of namespace a have 7168 MiB in memory together, this one the most; they may have 6144 MiB in memory (--namespace-memory)"}},
		"what is ended already counts no more": {[]load{ending(of("a", 500, 50, 90)), of("a", 1, 4, 1)}, plenty, nil},
		"all together":                         {[]load{of("a", 1, 3, 1), of("b", 1, 4, 1)}, Machine{memory: 6 * gib}, []string{"1: all runs have 7168 MiB in memory together, this one the most; they may have 6144 MiB in memory, because the rest is the server's"}},
		"all processes together":               {[]load{of("a", 80, 3, 1), of("b", 90, 4, 1)}, Machine{tasks: 150}, []string{"1: all runs have 170 processes and threads together, this one the most; they may have 150 processes and threads, because the rest is the server's"}},
		"files of one":                         {[]load{of("a", 1, 1, 1), made(of("b", 1, 1, 1), 1001)}, plenty, []string{"1 disk: it uses 1001 files in its directories; the limit is 1000 files in its directories (--run-files)"}},
		"directories that are too deep":        {[]load{deep(of("a", 1, 1, 1)), of("b", 1, 1, 1)}, plenty, []string{"0 disk: it has directories more than 128 deep in each other"}},
		"open files that are too many":         {[]load{opened(of("a", 1, 1, 1)), of("b", 1, 1, 1)}, plenty, []string{"0 disk: its processes have more than 100000 open files together"}},
		"no more files, by others":             {[]load{made(of("a", 1, 1, 1), 900)}, Machine{Files: Room{10, 50_000, "/work"}}, nil},
		"no more files, by one":                {[]load{unlimited(made(of("a", 1, 1, 1), 20_000))}, Machine{Files: Room{10, 50_000, "/work"}}, []string{"0 disk: only 10 files are free in /work, and this run has added the most to it, 20000 files; 50000 files are reserved for the server"}},
		"a full disk":                          {[]load{of("a", 1, 1, 1), of("b", 1, 1, 2)}, Machine{Disk: Room{gib / 2, gib, "/work"}}, []string{"1 disk: only 512 MiB are free in /work, and this run has added the most to it, 2048 MiB; 1024 MiB are reserved for the server"}},
		"a disk filled by others":              {[]load{grew(of("a", 1, 1, 1), 100<<20), grew(of("b", 1, 1, 1), 127<<20)}, Machine{Disk: Room{gib / 2, gib, "/work"}}, nil},
		"a disk filled by one for a quarter":   {[]load{grew(of("a", 1, 1, 1), 100<<20), grew(of("b", 1, 1, 1), 128<<20)}, Machine{Disk: Room{gib / 2, gib, "/work"}}, []string{"1 disk: only 512 MiB are free in /work, and this run has added the most to it, 128 MiB; 1024 MiB are reserved for the server"}},
		"a disk that lacks a little":           {[]load{grew(of("a", 1, 1, 1), 15<<20)}, Machine{Disk: Room{gib - 1, gib, "/work"}}, nil},
		"a full disk that will be less full":   {[]load{of("a", 1, 1, 1), ending(of("b", 1, 1, 2))}, Machine{Disk: Room{gib / 2, gib, "/work"}}, nil},
		"a full disk that nobody has filled":   {[]load{of("a", 1, 1, 0)}, Machine{Disk: Room{gib / 2, gib, "/work"}}, nil},
		"no limits":                            {[]load{unlimited(of("a", 1000, 1000, 1000))}, Machine{}, nil},
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
		ended  time.Duration // before; 0 for not at all
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

// A run may leave its working directory while its disk is measured.
func TestARunThatHasLeftIsMeasured(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "left"), make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	m := New(&confinement.Walls{}, nil, 0, false)
	a := &account{of: NewSubject(run.NewID(time.Now()), &run.Spec{}, func() int64 { return 0 }), dirs: []string{dir}}
	m.measureDisks([]*account{a})
	if a.disk.Bytes < 1<<20 {
		t.Errorf("%+v", a.disk)
	}
}
