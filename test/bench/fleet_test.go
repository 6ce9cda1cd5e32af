// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
)

func TestEveryStackOfARepositoryHasAPlaceAndNameOfItsOwn(t *testing.T) {
	const size = 100
	files, names := repository(size, content{provider: true, lines: 3}), map[string]bool{}
	for i := range size {
		names[stackName(i)] = true
		if text := files[stackPath(i)+"/main.tf"]; !strings.Contains(text, "../../../modules/service") {
			t.Fatalf("the stack %d is at %s and has no program there: %q", i, stackPath(i), text)
		}
	}
	if len(names) != size || len(files) != 2*size+4 {
		t.Errorf("%d names and %d files for %d stacks", len(names), len(files), size)
	}
}

func TestComparedIsMadeOfMedians(t *testing.T) {
	s := time.Second
	of := func(took, cpu, busy, server, runner time.Duration, p processes) observation {
		return observation{took: took * s, cpu: cpu * s, busy: busy * s, server: server * s, runner: runner * s, processes: p}
	}
	c := compared{
		yuba:   []observation{of(10, 6, 20, 1, 0, processes{20, 40}), of(90, 60, 99, 2, 1, processes{20, 40}), of(12, 7, 21, 1, 1, processes{30, 50})},
		byHand: []observation{of(6, 7, 7, 0, 0, processes{60, 100}), of(5, 6, 6, 0, 0, processes{60, 100}), of(8, 9, 10, 0, 0, processes{60, 100})},
	}
	got := c.results("x", "what", 20)
	if r := got[0]; r.Value != 2 || r.CPURatio != 1 || r.MachineRatio != 3 || r.Trials != 3 {
		t.Errorf("ratios: %+v", r)
	}
	want := []result{{Name: "x-cpu", Unit: "ms", Trials: 3, Value: 350,
		What: "CPU per stack: tofu and its providers 250 ms, server 50, runner 50; plain tofu 350"},
		{Name: "x-processes", Unit: "processes", Trials: 3, Value: 1,
			What: "tofu processes per stack: plain tofu 3.00; provider processes: 2.00, plain tofu 5.00"}}
	if diff := cmp.Diff(want, got[1:]); diff != "" {
		t.Errorf("for each stack (-want +got):\n%s", diff)
	}
}

func TestBusyTimeLeavesOutWhatIsIdle(t *testing.T) {
	got, err := parseBusy([]byte("cpu  100 20 30 9999 888 7 3 55 44 33\ncpu0 1 1 1 1 1 1 1 1 1 1\n"))
	if want := 1600 * time.Millisecond; err != nil || got != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
	if _, err := parseBusy([]byte("intr 5\n")); err == nil {
		t.Error("another line was taken for that of the cores")
	}
}

func TestGrowthIsJudgedAtItsWorst(t *testing.T) {
	for name, c := range map[string]struct {
		values []float64
		worst  float64
		at     int
	}{
		"what grows with the size":                 {[]float64{1, 3, 10}, 1, 1},
		"what does not grow shrinks in proportion": {[]float64{6, 6, 6}, 1.0 / 3, 1},
		"one step is faster":                       {[]float64{1, 3, 20}, 2, 2},
		"nothing to compare with":                  {[]float64{0, 0, 0}, 0, 0},
		"one size":                                 {[]float64{1}, 0, 0},
		"what was nothing first is compared later": {[]float64{0, 3, 10}, 1, 2},
		"a size that was not measured is left out": {[]float64{1, 6}, 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			worst, at := worstGrowth([]int{100, 300, 1000}, c.values)
			if at != c.at || worst-c.worst > 1e-9 || c.worst-worst > 1e-9 {
				t.Errorf("%v at %d, want %v at %d", worst, at, c.worst, c.at)
			}
		})
	}
}

func TestOnlyChoosesPartsAndRows(t *testing.T) {
	for name, c := range map[string]struct {
		only   string
		parts  []string
		rows   []string
		failed bool
	}{
		"nothing named":    {"", []string{"ready", "idle", "stacks", "inputs", "sandbox", "kustomization", "sources"}, nil, false},
		"a part":           {"idle", []string{"idle"}, nil, false},
		"all of a fleet":   {"fleet", []string{"fleet"}, fleetRows, false},
		"some rows":        {"fleet-apply, fleet-start", []string{"fleet"}, []string{rowApply, rowStart}, false},
		"a row and a part": {"fleet-proven,ready", []string{"ready", "fleet"}, []string{rowProven}, false},
		"a wrong name":     {"fleet-applies", nil, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := &bench{}
			flags := flag.NewFlagSet("bench", flag.ContinueOnError)
			flags.SetOutput(io.Discard)
			_, err := b.parse(flags, []string{"-only", c.only})
			if c.failed != (err != nil) {
				t.Fatalf("error %v", err)
			}
			if err != nil {
				return
			}
			var chose, rows []string
			for _, p := range parts {
				if b.chose(p) {
					chose = append(chose, p.name)
				}
			}
			for _, row := range fleetRows {
				if b.wants(row) {
					rows = append(rows, row)
				}
			}
			if diff := cmp.Diff(c.parts, chose); diff != "" {
				t.Errorf("parts (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.rows, rows); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSizesMustGrow(t *testing.T) {
	got, err := numbers("100, 300,1000")
	if diff := cmp.Diff([]int{100, 300, 1000}, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, wrong := range []string{"", "0", "300,100", "10,10", "many"} {
		if _, err := numbers(wrong); err == nil {
			t.Errorf("%q was accepted", wrong)
		}
	}
}

func TestTheTableOfThePage(t *testing.T) {
	r := report{Machine: machine{System: "Linux 6.1", Cores: 2, Processor: "A|B", Memory: "24 GiB", Load: "0.1 0.2 0.3", Tofu: "tofu 1.12.6"}, Command: "make bench",
		Results: []result{
			{What: "first apply | of many", Unit: "x", Value: 1.5, CPURatio: 1.1, Yuba: &spread{Median: 15_000}, ByHand: &spread{Median: 900}, Trials: 3, Limit: &limit{Target: ptr.To(1.25)}},
			{What: "runs", Unit: "runs", Value: 0, Trials: 1, Limit: &limit{Target: ptr.To(0.0)}},
		}}
	var out strings.Builder
	if err := r.writeMarkdown(&out); err != nil {
		t.Fatal(err)
	}
	want := "Linux 6.1 on 2 cores (A|B, 24 GiB of memory), load 0.1 0.2 0.3; tofu 1.12.6.\n\n```console\n$ make bench\n```\n\n" +
		"| | measured | target | Yuba | plain tofu | CPU | trials |\n|---|---|---|---|---|---|---|\n" +
		"| first apply \\| of many | **1.50x** | 1.25x | 15.0 s | 900 ms | 1.10 | 3 |\n" +
		"| runs | 0 runs | 0 runs |  |  |  | 1 |\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}
