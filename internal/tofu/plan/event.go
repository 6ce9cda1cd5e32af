// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// EventType is the type of an event.
type EventType string

// The types that tofu 1.12 sends. Unknown types are kept.
const (
	// Raw is a line that is not a JSON message of tofu.
	Raw EventType = "raw"
	// Note is a message without a type, such as init's.
	Note              EventType = "note"
	Version           EventType = "version"
	Log               EventType = "log"
	Diagnostic        EventType = "diagnostic"
	ResourceDrift     EventType = "resource_drift"
	PlannedChange     EventType = "planned_change"
	ChangeSummary     EventType = "change_summary"
	Outputs           EventType = "outputs"
	ApplyStart        EventType = "apply_start"
	ApplyProgress     EventType = "apply_progress"
	ApplyComplete     EventType = "apply_complete"
	ApplyErrored      EventType = "apply_errored"
	ProvisionStart    EventType = "provision_start"
	ProvisionProgress EventType = "provision_progress"
	ProvisionComplete EventType = "provision_complete"
	ProvisionErrored  EventType = "provision_errored"
	RefreshStart      EventType = "refresh_start"
	RefreshComplete   EventType = "refresh_complete"
)

// Action is what happens to a resource or an output, in tofu's words.
type Action string

// The actions. Forget is "remove" on the wire: the object stays, but leaves the state.
const (
	NoOp    Action = "noop"
	Create  Action = "create"
	Read    Action = "read"
	Update  Action = "update"
	Replace Action = "replace"
	Delete  Action = "delete"
	Move    Action = "move"
	Import  Action = "import"
	Forget  Action = "remove"
)

// MaxLine is the longest line that is parsed; a longer one is Raw and truncated. tofu's longest
// lines are dumps of a whole state.
const MaxLine = 4 << 20

// Event is one line of tofu's output.
type Event struct {
	Type    EventType
	Level   string
	Time    time.Time
	Message string

	Tool       string                 // Version: tofu's version
	Resource   string                 // address, for changes, drift and progress
	Match      string                 // identifies a masked address; set by the code that masks
	Previous   string                 // address before a move
	Action     Action                 // for changes, drift and progress
	Reason     string                 // why it is replaced, deleted or read
	ID         string                 // of the object, if tofu sends it
	Elapsed    time.Duration          // ApplyProgress, ApplyComplete, ApplyErrored
	Counts     Counts                 // ChangeSummary
	Operation  string                 // ChangeSummary: plan, apply or destroy
	Outputs    map[string]OutputEvent // Outputs
	Diagnostic *diagnostic.Diagnostic // Diagnostic
	Output     string                 // ProvisionProgress
	HasState   bool                   // Log: carries an emergency dump of the state
}

// OutputEvent describes one output: an action when planned, a value when applied. It never contains
// the value of a sensitive output.
type OutputEvent struct {
	Sensitive bool            `json:"sensitive"`
	Action    Action          `json:"action,omitempty"`
	Type      json.RawMessage `json:"type,omitempty"`
	Value     json.RawMessage `json:"value,omitempty"`
}

// message is the wire format of all types.
type message struct {
	Level      string                 `json:"@level"`
	Message    *string                `json:"@message"`
	Module     string                 `json:"@module"`
	Timestamp  string                 `json:"@timestamp"`
	Type       string                 `json:"type"`
	Tofu       string                 `json:"tofu"`
	Terraform  string                 `json:"terraform"`
	Change     *wireChange            `json:"change"`
	Hook       *wireHook              `json:"hook"`
	Changes    *wireSummary           `json:"changes"`
	Outputs    map[string]OutputEvent `json:"outputs"`
	Diagnostic *wireDiagnostic        `json:"diagnostic"`
	State      json.RawMessage        `json:"state"`
}

type wireAddress struct {
	Addr string `json:"addr"`
}

type wireChange struct {
	Resource wireAddress  `json:"resource"`
	Previous *wireAddress `json:"previous_resource"`
	Action   Action       `json:"action"`
	Reason   string       `json:"reason"`
}

type wireHook struct {
	Resource wireAddress `json:"resource"`
	Action   Action      `json:"action"`
	IDValue  string      `json:"id_value"`
	Elapsed  float64     `json:"elapsed_seconds"`
	Output   string      `json:"output"`
}

type wireSummary struct {
	Add, Change, Import, Remove, Forget int
	Operation                           string
}

type wireDiagnostic struct {
	Severity diagnostic.Severity `json:"severity"`
	Summary  string              `json:"summary"`
	Detail   string              `json:"detail"`
	Address  string              `json:"address"`
	Range    *struct {
		Filename string `json:"filename"`
		Start    struct{ Line, Column int }
	} `json:"range"`
	Snippet *struct {
		Context        *string `json:"context"`
		Code           string  `json:"code"`
		StartLine      int     `json:"start_line"`
		HighlightStart int     `json:"highlight_start_offset"`
		HighlightEnd   int     `json:"highlight_end_offset"`
		Values         []struct{ Traversal, Statement string }
	} `json:"snippet"`
}

// ParseEvent parses one line, with or without its newline. It always returns an event: a line that
// is not a message of tofu is Raw, with the line as its message.
func ParseEvent(line []byte) Event {
	line = bytes.TrimRight(line, "\r\n")
	if len(line) > MaxLine {
		return Event{Type: Raw, Message: strings.ToValidUTF8(string(line[:1024]), "\uFFFD") + " … (line truncated)"}
	}
	var m message
	if len(line) == 0 || line[0] != '{' || json.Unmarshal(line, &m) != nil || m.Message == nil {
		return Event{Type: Raw, Message: strings.ToValidUTF8(string(line), "\uFFFD")}
	}
	e := Event{
		Type: cmp.Or(EventType(m.Type), Note), Level: m.Level, Message: *m.Message, Tool: cmp.Or(m.Tofu, m.Terraform),
		Outputs: m.Outputs, HasState: len(m.State) > 0,
	}
	e.Time, _ = time.Parse(time.RFC3339Nano, m.Timestamp)
	e.fill(&m)
	return e
}

// fill copies the part of the message that its type has.
func (e *Event) fill(m *message) {
	if c := m.Change; c != nil {
		e.Resource, e.Action, e.Reason = c.Resource.Addr, c.Action, c.Reason
		if c.Previous != nil {
			e.Previous = c.Previous.Addr
		}
	}
	if h := m.Hook; h != nil {
		e.Resource, e.Action, e.ID, e.Output = h.Resource.Addr, h.Action, h.IDValue, h.Output
		e.Elapsed = time.Duration(h.Elapsed * float64(time.Second))
	}
	if s := m.Changes; s != nil {
		e.Counts = Counts{Add: s.Add, Change: s.Change, Destroy: s.Remove, Import: s.Import, Forget: s.Forget}
		e.Operation = s.Operation
	}
	if m.Diagnostic != nil {
		d := m.Diagnostic.diagnostic()
		e.Diagnostic = &d
	}
}

func (w *wireDiagnostic) diagnostic() diagnostic.Diagnostic {
	d := diagnostic.Diagnostic{Severity: w.Severity, Summary: w.Summary, Detail: w.Detail, Address: w.Address}
	if w.Severity != diagnostic.Warning {
		d.Severity = diagnostic.Error
	}
	if w.Range != nil {
		d.File, d.Line, d.Column = w.Range.Filename, w.Range.Start.Line, w.Range.Start.Column
	}
	if s := w.Snippet; s != nil {
		d.Snippet = &diagnostic.Snippet{
			Code: s.Code, StartLine: s.StartLine,
			HighlightStart: s.HighlightStart, HighlightEnd: s.HighlightEnd,
		}
		if s.Context != nil {
			d.Snippet.Context = *s.Context
		}
		for _, v := range s.Values {
			d.Snippet.Values = append(d.Snippet.Values, diagnostic.Value{Expression: v.Traversal, Statement: v.Statement})
		}
	}
	return d
}

// TakeState prepares a line for the log: it removes and returns the emergency dump of the state. It
// also removes both sides of a failed condition, in which tofu prints sensitive values.
func TakeState(line []byte) (clean []byte, state json.RawMessage) {
	if !bytes.Contains(line, []byte(`"state"`)) && !bytes.Contains(line, []byte(`"difference"`)) {
		return line, nil
	}
	var m, diagnostic map[string]json.RawMessage
	if json.Unmarshal(line, &m) != nil {
		return line, nil
	}
	state = m["state"]
	delete(m, "state")
	if raw := m["diagnostic"]; raw != nil && json.Unmarshal(raw, &diagnostic) == nil {
		delete(diagnostic, "difference")
		m["diagnostic"], _ = encode(diagnostic) // it was JSON before
	}
	clean, _ = encode(m) // as above
	return clean, state
}

// encode writes JSON as tofu does, without HTML escapes.
func encode(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimRight(out.Bytes(), "\n"), err
}
