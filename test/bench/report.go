// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"text/tabwriter"
)

// report contains all results and the machine.
type report struct {
	Machine machine `json:"machine"`
	// Command repeats the measurement.
	Command string   `json:"command"`
	Results []result `json:"results"`
}

// machine describes where the benchmark ran. If the load is far above the number of cores, wall
// times are useless.
type machine struct {
	OS string `json:"os"`
	// System, Processor and Memory are the kernel's descriptions.
	System    string `json:"system"`
	Processor string `json:"processor"`
	Memory    string `json:"memory"`
	Cores     int    `json:"cores"`
	Load      string `json:"load"`
	Yuba      string `json:"yuba"`
	Tofu      string `json:"tofu"`
}

func describeMachine(p programs) machine {
	m := machine{OS: runtime.GOOS + "/" + runtime.GOARCH, Cores: runtime.NumCPU(), Yuba: firstLine(p.yuba, "version", "--client"), Tofu: tofuVersion(p.tofu)}
	m.System, m.Processor, m.Memory = "Linux "+kernelRelease(), procField("/proc/cpuinfo", "model name"), "unknown"
	if kb, err := strconv.Atoi(strings.TrimSuffix(procField("/proc/meminfo", "MemTotal"), " kB")); err == nil {
		m.Memory = fmt.Sprintf("%.0f GiB", float64(kb)/(1<<20))
	}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.Load = strings.Join(strings.Fields(string(text))[:3], " ")
	}
	return m
}

func kernelRelease() string {
	text, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return "of an unknown version"
	}
	return strings.TrimSpace(string(text))
}

// procField is the first value with this name in a file of the kernel.
func procField(file, name string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

func tofuVersion(tofu string) string {
	var answer struct {
		Version string `json:"terraform_version"`
	}
	cmd := exec.Command(tofu, "version", "-json")
	cmd.Env = []string{"HOME=/nonexistent"} // no configuration that this shell may name
	out, err := cmd.Output()
	if err != nil || json.Unmarshal(out, &answer) != nil {
		return "tofu of an unknown version"
	}
	return "tofu " + answer.Version
}

func firstLine(program string, args ...string) string {
	out, err := exec.Command(program, args...).Output()
	if err != nil {
		return "unknown"
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return line
}

func (r report) writeJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

func (r report) writeTable(w io.Writer) error {
	m := r.Machine
	fmt.Fprintf(w, "%s, %d cores, load %s; %s; %s\n\n", m.OS, m.Cores, m.Load, m.Yuba, m.Tofu)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\tVALUE\tTARGET\t\tYUBA ms (p10-p90)\tPLAIN TOFU ms (p10-p90)\tCPU (MACHINE) RATIO\tTRIALS")
	for _, x := range r.Results {
		target, cpu := "", ""
		if x.Limit != nil && x.Limit.Target != nil {
			target = number(*x.Limit.Target, x.Unit)
		}
		if x.CPURatio > 0 {
			cpu = fmt.Sprintf("%.2f", x.CPURatio)
		}
		if x.MachineRatio > 0 {
			cpu += fmt.Sprintf(" (%.2f)", x.MachineRatio)
		}
		lines := wrapped(x.What, widest)
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\n", lines[0], number(x.Value, x.Unit), target, x.Limit.verdict(x.Value),
			x.Yuba, x.ByHand, cpu, x.Trials)
		for _, line := range lines[1:] {
			fmt.Fprintln(t, "  "+line+"\t\t\t\t\t\t\t")
		}
	}
	return t.Flush()
}

// widest is the number of characters of a title per line, so that terminals show the values beside
// it.
const widest = 100

// wrapped breaks a text between words into lines of at most this many bytes, except for longer
// words.
func wrapped(text string, width int) []string {
	lines := []string{""}
	for word := range strings.FieldsSeq(text) {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = word
		case len(*last)+1+len(word) > width:
			lines = append(lines, word)
		default:
			*last += " " + word
		}
	}
	return lines
}

func number(v float64, unit string) string {
	switch {
	case unit == "x":
		return fmt.Sprintf("%.2fx", v)
	case v >= 100, v == float64(int64(v)):
		return strings.TrimSpace(fmt.Sprintf("%.0f %s", v, unit))
	}
	return strings.TrimSpace(fmt.Sprintf("%.2f %s", v, unit))
}

// String is the median and the range around it.
func (s *spread) String() string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf("%.0f (%.0f-%.0f)", s.Median, s.P10, s.P90)
}
