// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/yuba-dev/yuba/internal/runs/confinement"
	"github.com/yuba-dev/yuba/internal/runs/network"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
)

// reportFile has the refusals of the run's network, a line each. Relays write it, and those of an
// earlier runner may still do.
const reportFile = "network"

// refusals are those of the run's network.
type refusals struct {
	mu     sync.Mutex
	offset int64
	lines  []string
	// told is how many of the lines are warnings of the result.
	told int
}

// maxRefusals limits those of a run; a relay has a limit for each program.
const maxRefusals = 16

// Relay connects a program to the machine's network, if the run's is isolated; else nil. The report
// may be nil. The server has checked the entries; with invalid ones the relay would not start, and
// so no program.
func (t *Run) Relay(report *os.File) *confinement.Relay {
	entries := t.Spec.Limits.Isolated
	if len(entries) == 0 {
		return nil
	}
	relay := &confinement.Relay{Allow: entries, Report: report}
	list, _ := network.ParseList(entries)
	for _, to := range list.Forwards() {
		relay.Forwards = append(relay.Forwards, to.String())
	}
	return relay
}

// OpenReport opens the file for refusals of the run's network; nil if it is not isolated.
func (t *Run) OpenReport() (*os.File, error) {
	if len(t.Spec.Limits.Isolated) == 0 {
		return nil, nil //nolint:nilnil // a run without one
	}
	file, err := os.OpenFile(t.Dir.Path(reportFile), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fault.New(fault.DiskClass(err), "open the report of the network: %w", err)
	}
	return file, nil
}

// LookForRefusals adds new refusals to the log.
func (t *Run) LookForRefusals() {
	if len(t.Spec.Limits.Isolated) == 0 {
		return
	}
	t.refusals.mu.Lock()
	defer t.refusals.mu.Unlock()
	file, err := os.Open(t.Dir.Path(reportFile))
	if err != nil {
		return // there are none yet
	}
	defer file.Close()
	text, err := io.ReadAll(io.NewSectionReader(file, t.refusals.offset, 1<<20))
	if err != nil {
		return // the next look tries again
	}
	end := bytes.LastIndexByte(text, '\n') + 1
	t.refusals.offset += int64(end)
	for line := range strings.Lines(string(text[:end])) {
		line = strings.TrimSpace(line)
		if !network.IsNotice(line) || slices.Contains(t.refusals.lines, line) || len(t.refusals.lines) == maxRefusals {
			continue
		}
		t.refusals.lines = append(t.refusals.lines, line)
		t.Log.Warn("%s", capital(line))
	}
}

// TakeRefusals adds new refusals to the log and to the warnings of the result.
func (t *Run) TakeRefusals() {
	t.LookForRefusals()
	t.refusals.mu.Lock()
	defer t.refusals.mu.Unlock()
	for ; t.refusals.told < len(t.refusals.lines); t.refusals.told++ {
		t.AddWarning(capital(t.refusals.lines[t.refusals.told]))
	}
}

// firstRefusal explains a failed connection in the result's error; empty if there was none.
func (t *Run) firstRefusal() string {
	t.refusals.mu.Lock()
	defer t.refusals.mu.Unlock()
	switch n := len(t.refusals.lines); n {
	case 0:
		return ""
	case 1:
		return capital(t.refusals.lines[0])
	default:
		return fmt.Sprintf("%s (the log has %d more)", capital(t.refusals.lines[0]), n-1)
	}
}

func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
