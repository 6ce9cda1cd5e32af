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
	// seen is how many of the lines were considered as warnings of the result.
	seen int
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

// NetworkEnded reports whether the report says that a relay ended early.
func (t *Run) NetworkEnded() bool {
	text, err := os.ReadFile(t.Dir.Path(reportFile))
	return err == nil && bytes.Contains(text, []byte(network.Ended))
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

// TakeRefusals adds new refusals to the log. They are not warnings of the result, because programs
// probe destinations that they do not need; the early end of the network is one.
func (t *Run) TakeRefusals() {
	t.LookForRefusals()
	t.refusals.mu.Lock()
	defer t.refusals.mu.Unlock()
	for ; t.refusals.seen < len(t.refusals.lines); t.refusals.seen++ {
		if line := t.refusals.lines[t.refusals.seen]; strings.HasPrefix(line, network.Ended) {
			t.AddWarning(capital(line))
		}
	}
}

// explanation is what the network says of a failure with this text; empty for nothing.
func (t *Run) explanation(failure string) string {
	t.refusals.mu.Lock()
	defer t.refusals.mu.Unlock()
	first, more := "", 0
	for _, line := range t.refusals.lines {
		switch {
		case !network.Explains(line, failure):
		case first == "":
			first = capital(line)
		default:
			more++
		}
	}
	if more > 0 {
		return fmt.Sprintf("%s (the log has %d more)", first, more)
	}
	return first
}

func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
