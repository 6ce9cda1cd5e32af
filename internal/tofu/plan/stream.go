// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"sort"
	"time"

	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// What a stream keeps at most. The totals count on.
const (
	// maxChanges is how many objects of a plan or an apply are named. An interrupted apply needs each of them; few plans are
	// larger, and a name takes some hundred bytes.
	maxChanges     = 10_000
	maxDrift       = 1000
	maxDiagnostics = 100
	maxRaw         = 100
	maxRawBytes    = 16 << 10
)

// Change is one resource instance that is planned to change or has drifted.
type Change struct {
	Address string `json:"address"`
	// Match stands for the address where that is masked, see [Event].
	Match    string `json:"match,omitempty"`
	Previous string `json:"previous,omitempty"`
	Action   Action `json:"action"`
	Reason   string `json:"reason,omitempty"`
}

// OutputChange is an output that is planned to change.
type OutputChange struct {
	Name      string `json:"name"`
	Action    Action `json:"action"`
	Sensitive bool   `json:"sensitive,omitempty"`
}

// Applied is something that was really done to one object.
type Applied struct {
	Address string `json:"address"`
	Match   string `json:"match,omitempty"`
	Action  Action `json:"action"`
	ID      string `json:"id,omitempty"`
	Failed  bool   `json:"failed,omitempty"`
}

// InFlight is something that was begun and has not ended.
type InFlight struct {
	Address string        `json:"address"`
	Match   string        `json:"match,omitempty"`
	Action  Action        `json:"action"`
	ID      string        `json:"id,omitempty"`
	Started time.Time     `json:"started"`
	Elapsed time.Duration `json:"elapsed,omitempty"`
}

// Stream gathers what one tofu process says. The zero value is ready. Use one
// stream for one process: an apply repeats the planned changes of its plan.
// A stream is for one goroutine at a time.
type Stream struct {
	// ToolVersion is the version that the process says it is.
	ToolVersion string `json:"toolVersion,omitempty"`
	// Planned is what the plan counts; valid when PlanDone.
	Planned  Counts `json:"planned"`
	PlanDone bool   `json:"planDone,omitempty"`
	// Done is what the apply counts; valid when ApplyDone. tofu sends no
	// counts when an apply fails: then Progress has them.
	Done      Counts `json:"done"`
	ApplyDone bool   `json:"applyDone,omitempty"`
	// Begun is true once the process has begun to change an object. Reading data sources, which plans do, is no change.
	Begun bool `json:"begun,omitempty"`

	Changes      []Change `json:"changes,omitempty"`
	ChangesTotal int      `json:"changesTotal,omitempty"`
	Drift        []Change `json:"drift,omitempty"`
	DriftTotal   int      `json:"driftTotal,omitempty"`
	// Outputs are those that a plan changes, by name.
	Outputs []OutputChange `json:"outputs,omitempty"`
	// Applied are the objects that were created, changed or destroyed, in order.
	Applied      []Applied `json:"applied,omitempty"`
	AppliedTotal int       `json:"appliedTotal,omitempty"`

	Diagnostics      diagnostic.List `json:"diagnostics,omitempty"`
	DiagnosticsTotal int             `json:"diagnosticsTotal,omitempty"`
	// Raw are the last lines that were not messages.
	Raw []string `json:"raw,omitempty"`

	progress Counts
	inFlight map[string]InFlight
}

// Feed takes one line of the process's output in and returns its event.
func (s *Stream) Feed(line []byte) Event {
	e := ParseEvent(line)
	s.Add(e)
	return e
}

// Add takes one event in.
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

// outputs keeps the names of planned outputs. The event that ends an apply
// has no actions and is left to the state, which has every value exactly.
func (s *Stream) outputs(e Event) {
	var list []OutputChange
	for name, o := range e.Outputs {
		if o.Action != "" && o.Action != NoOp {
			list = append(list, OutputChange{Name: name, Action: o.Action, Sensitive: o.Sensitive})
		}
	}
	if len(list) > 0 {
		sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
		s.Outputs = list
	}
}

// apply follows one object. The key has the action in it, because the two
// halves of a replacement have one address and may overlap.
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
		id := e.ID
		if id == "" {
			id = s.inFlight[key].ID
		}
		delete(s.inFlight, key)
		failed := e.Type == ApplyErrored
		if e.Action == Read || e.Action == NoOp {
			return
		}
		s.AppliedTotal++
		s.Applied = appendBounded(s.Applied, Applied{Address: e.Resource, Match: e.Match, Action: e.Action, ID: id, Failed: failed}, maxChanges)
		if !failed {
			s.count(e.Action)
		}
	}
}

func (s *Stream) count(a Action) {
	switch a {
	case Create:
		s.progress.Add++
	case Update:
		s.progress.Change++
	case Delete:
		s.progress.Destroy++
	case Forget:
		s.progress.Forget++
	case Import:
		s.progress.Import++
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
		s.Raw = append(s.Raw[:0], s.Raw[1:]...)
	}
	s.Raw = append(s.Raw, line)
}

// HasChanges reports whether the plan would change anything if applied:
// resources, imports, moves or outputs.
func (s *Stream) HasChanges() bool { return s.ChangesTotal > 0 || len(s.Outputs) > 0 }

// Progress is what has been done so far, counted from the objects themselves.
func (s *Stream) Progress() Counts { return s.progress }

// InFlight lists what was begun and has not ended, by address. After a process
// died these are the objects that may exist without being in the state.
func (s *Stream) InFlight() []InFlight {
	list := make([]InFlight, 0, len(s.inFlight))
	for _, f := range s.inFlight {
		list = append(list, f)
	}
	sort.Slice(list, func(i, j int) bool {
		if list[i].Address != list[j].Address {
			return list[i].Address < list[j].Address
		}
		if list[i].Match != list[j].Match {
			return list[i].Match < list[j].Match
		}
		return list[i].Action < list[j].Action
	})
	return list
}

// Errors are the diagnostics that made the process fail.
func (s *Stream) Errors() diagnostic.List { return s.Diagnostics.Errors() }
