// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// Limits of a stream. Totals keep counting beyond them.
const (
	// maxChanges limits the named objects of a plan or an apply. An interrupted apply needs each of
	// them; few plans are larger, and a name takes a few hundred bytes.
	maxChanges     = 10_000
	maxDrift       = 1000
	maxDiagnostics = 100
	maxRaw         = 100
	maxRawBytes    = 16 << 10
)

// Change is one resource instance with a planned change or drift.
type Change struct {
	Address string `json:"address"`
	// Match replaces a masked address, see [Event].
	Match    string `json:"match,omitempty"`
	Previous string `json:"previous,omitempty"`
	Action   Action `json:"action"`
	Reason   string `json:"reason,omitempty"`
}

// OutputChange is a planned change of an output.
type OutputChange struct {
	Name      string `json:"name"`
	Action    Action `json:"action"`
	Sensitive bool   `json:"sensitive,omitempty"`
}

// Applied is a completed action on one object.
type Applied struct {
	Address string `json:"address"`
	Match   string `json:"match,omitempty"`
	Action  Action `json:"action"`
	ID      string `json:"id,omitempty"`
	Failed  bool   `json:"failed,omitempty"`
}

// InFlight is an action that has begun and not ended.
type InFlight struct {
	Address string        `json:"address"`
	Match   string        `json:"match,omitempty"`
	Action  Action        `json:"action"`
	ID      string        `json:"id,omitempty"`
	Started time.Time     `json:"started"`
	Elapsed time.Duration `json:"elapsed,omitempty"`
}

// Stream collects the events of one tofu process. The zero value is ready for use. Use one stream
// for each process: an apply repeats the planned changes of its plan. Not safe for concurrent use.
type Stream struct {
	// ToolVersion is the version that the process reports.
	ToolVersion string `json:"toolVersion,omitempty"`
	// Planned are the plan's counts; valid if PlanDone.
	Planned  Counts `json:"planned"`
	PlanDone bool   `json:"planDone,omitempty"`
	// Done are the apply's counts; valid if ApplyDone. tofu sends no counts when an apply fails:
	// then use Progress.
	Done      Counts `json:"done"`
	ApplyDone bool   `json:"applyDone,omitempty"`
	// Begun is true once the process has started to change an object. Reading data sources does not
	// count.
	Begun bool `json:"begun,omitempty"`

	Changes      []Change `json:"changes,omitempty"`
	ChangesTotal int      `json:"changesTotal,omitempty"`
	Drift        []Change `json:"drift,omitempty"`
	DriftTotal   int      `json:"driftTotal,omitempty"`
	// Outputs are the planned changes of outputs, by name.
	Outputs []OutputChange `json:"outputs,omitempty"`
	// Applied lists the created, changed and destroyed objects in order.
	Applied      []Applied `json:"applied,omitempty"`
	AppliedTotal int       `json:"appliedTotal,omitempty"`

	Diagnostics      diagnostic.List `json:"diagnostics,omitempty"`
	DiagnosticsTotal int             `json:"diagnosticsTotal,omitempty"`
	// Raw are the last lines that were not messages.
	Raw []string `json:"raw,omitempty"`

	progress Counts
	inFlight map[string]InFlight
}

// Feed processes one line of output and returns its event.
func (s *Stream) Feed(line []byte) Event {
	e := ParseEvent(line)
	s.Add(e)
	return e
}

// Add processes one event.
func (s *Stream) Add(e Event) {
	switch e.Type {
	case Version:
		s.ToolVersion = e.Tool
	case PlannedChange:
		s.ChangesTotal++
		s.Changes = appendBounded(s.Changes, change(e), maxChanges)
	case ResourceDrift:
		s.DriftTotal++
		s.Drift = appendBounded(s.Drift, change(e), maxDrift)
	case ChangeSummary:
		if e.Operation == "plan" {
			s.Planned, s.PlanDone = e.Counts, true
		} else {
			s.Done, s.ApplyDone = e.Counts, true
		}
	case Outputs:
		s.outputs(e)
	case Diagnostic:
		s.DiagnosticsTotal++
		if e.Diagnostic != nil {
			s.Diagnostics = appendBounded(s.Diagnostics, *e.Diagnostic, maxDiagnostics)
		}
	case ApplyStart, ApplyProgress, ApplyComplete, ApplyErrored:
		s.apply(e)
	case Raw:
		s.raw(e.Message)
	}
}

func change(e Event) Change {
	return Change{Address: e.Resource, Match: e.Match, Previous: e.Previous, Action: e.Action, Reason: e.Reason}
}

func appendBounded[T any](list []T, item T, limit int) []T {
	if len(list) >= limit {
		return list
	}
	return append(list, item)
}

// outputs records the names of planned outputs. The event at the end of an apply has no actions;
// the state has the exact values.
func (s *Stream) outputs(e Event) {
	var list []OutputChange
	for _, name := range keys(e.Outputs) {
		o := e.Outputs[name]
		if o.Action != "" && o.Action != NoOp {
			list = append(list, OutputChange{Name: name, Action: o.Action, Sensitive: o.Sensitive})
		}
	}
	if len(list) > 0 {
		s.Outputs = list
	}
}

// apply tracks one object. The key includes the action, because the two halves of a replacement
// have the same address and may overlap.
func (s *Stream) apply(e Event) {
	key := string(e.Action) + " " + e.Resource + " " + e.Match
	s.Begun = s.Begun || e.Action != Read && e.Action != NoOp
	switch e.Type {
	case ApplyStart:
		if s.inFlight == nil {
			s.inFlight = map[string]InFlight{}
		}
		s.inFlight[key] = InFlight{Address: e.Resource, Match: e.Match, Action: e.Action, ID: e.ID, Started: e.Time}
	case ApplyProgress:
		if f, ok := s.inFlight[key]; ok {
			f.Elapsed = e.Elapsed
			s.inFlight[key] = f
		}
	case ApplyComplete, ApplyErrored:
		id := cmp.Or(e.ID, s.inFlight[key].ID)
		delete(s.inFlight, key)
		failed := e.Type == ApplyErrored
		if e.Action == Read || e.Action == NoOp {
			return
		}
		s.AppliedTotal++
		s.Applied = appendBounded(s.Applied, Applied{Address: e.Resource, Match: e.Match, Action: e.Action, ID: id, Failed: failed}, maxChanges)
		if !failed {
			s.progress.count(e.Action)
		}
	}
}

func (s *Stream) raw(line string) {
	if line == "" {
		return
	}
	if len(line) > maxRawBytes {
		line = line[:maxRawBytes]
	}
	if len(s.Raw) >= maxRaw {
		s.Raw = slices.Delete(s.Raw, 0, 1)
	}
	s.Raw = append(s.Raw, line)
}

// HasChanges reports whether applying the plan changes resources, imports, moves or outputs.
func (s *Stream) HasChanges() bool { return s.ChangesTotal > 0 || len(s.Outputs) > 0 }

// Progress returns the counts so far, counted from the objects.
func (s *Stream) Progress() Counts { return s.progress }

// InFlight lists actions that have begun and not ended, by address. After a process died, these
// objects may exist without being in the state.
func (s *Stream) InFlight() []InFlight {
	return slices.SortedFunc(maps.Values(s.inFlight), func(a, b InFlight) int {
		return cmp.Or(strings.Compare(a.Address, b.Address), strings.Compare(a.Match, b.Match), cmp.Compare(a.Action, b.Action))
	})
}

// Errors returns the diagnostics that made the process fail.
func (s *Stream) Errors() diagnostic.List { return s.Diagnostics.Errors() }
