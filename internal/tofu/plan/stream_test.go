// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// workdir is a root module that the tests change and run the real tofu in.
type workdir struct {
	t    *testing.T
	dir  string
	tofu string
}

func newWorkdir(t *testing.T, program string) *workdir {
	w := &workdir{t: t, dir: t.TempDir(), tofu: tofutest.Tofu(t)}
	w.write(program)
	w.run("init", "-json")
	return w
}

func (w *workdir) write(program string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, "main.tf"), []byte(program), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// run returns standard output; a failing tofu is not an error here.
func (w *workdir) run(args ...string) []byte {
	w.t.Helper()
	cmd := exec.Command(w.tofu, args...)
	cmd.Dir = w.dir
	cmd.Env = []string{"HOME=" + w.dir, "PATH=/usr/bin:/bin", "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1"}
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		if _, exited := err.(*exec.ExitError); !exited {
			w.t.Fatal(err)
		}
	}
	return out.Bytes()
}

func (w *workdir) stream(args ...string) *Stream {
	w.t.Helper()
	s := &Stream{}
	for line := range bytes.Lines(w.run(args...)) {
		s.Feed(line)
	}
	return s
}

const twoResources = `
variable "n" {
  type    = number
  default = 2
}
resource "terraform_data" "a" {
  count            = var.n
  input            = "x${count.index}"
  triggers_replace = [var.n]
}
resource "terraform_data" "b" {
  input = "one"
}
output "id" {
  value = terraform_data.b.id
}
output "token" {
  value     = "s3cr3t"
  sensitive = true
}
`

func TestStreamOfRealTofu(t *testing.T) {
	w := newWorkdir(t, twoResources)
	s := w.stream("plan", "-json", "-out=p")
	if !s.PlanDone || s.Planned != (Counts{Add: 3}) || !s.HasChanges() || s.ToolVersion == "" {
		t.Errorf("first plan: %+v", s)
	}
	if diff := cmp.Diff([]OutputChange{{"id", Create, false}, {"token", Create, true}}, s.Outputs); diff != "" {
		t.Error(diff)
	}
	s = w.stream("apply", "-json", "p")
	if !s.ApplyDone || s.Done != (Counts{Add: 3}) || s.Progress() != s.Done || len(s.Applied) != 3 || len(s.InFlight()) != 0 {
		t.Errorf("first apply: %+v", s)
	}
	for _, a := range s.Applied {
		if a.Action != Create || a.Failed || a.ID == "" {
			t.Errorf("it was created: %+v", a)
		}
	}
	if s = w.stream("plan", "-json"); s.HasChanges() || !s.PlanDone || !s.Planned.Zero() {
		t.Errorf("plan without changes: %+v", s)
	}
	w.write(strings.Replace(twoResources, "one", "two", 1))
	s = w.stream("plan", "-json", "-out=p", "-var=n=1")
	want := []Change{
		{Address: "terraform_data.a[0]", Action: Replace, Reason: "cannot_update"},
		{Address: "terraform_data.a[1]", Action: Delete, Reason: "delete_because_count_index"},
		{Address: "terraform_data.b", Action: Update, Reason: ""},
	}
	byAddress := cmp.Transformer("byAddress", func(in []Change) map[string]Change {
		out := map[string]Change{}
		for _, c := range in {
			out[c.Address] = c
		}
		return out
	})
	if diff := cmp.Diff(want, s.Changes, byAddress); diff != "" || s.Planned.Summary() != "+1 ~1 -2" {
		t.Errorf("%s %s", s.Planned.Summary(), diff)
	}
	if s = w.stream("apply", "-json", "p"); s.Done != (Counts{1, 1, 2, 0, 0}) || s.Progress() != s.Done {
		t.Errorf("second apply: %+v", s)
	}
}

func TestStreamOfFailures(t *testing.T) {
	w := newWorkdir(t, `resource "terraform_data" "c" { input = nope.foo }`)
	s := w.stream("plan", "-json")
	if len(s.Errors()) != 1 || s.PlanDone {
		t.Fatalf("%+v", s)
	}
	text := s.Errors().Error()
	for _, part := range []string{"Reference to undeclared resource", "on main.tf line 1", "^^^^^^^^"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
	w.write(`resource "terraform_data" "ok" {}
resource "terraform_data" "c" {
  depends_on = [terraform_data.ok]
  provisioner "local-exec" { command = "exit 3" }
}`)
	s = w.stream("apply", "-json", "-auto-approve")
	if s.ApplyDone || s.Progress().Add != 1 || len(s.Errors()) != 1 || len(s.InFlight()) != 0 {
		t.Errorf("failed apply: %+v in flight %v", s, s.InFlight())
	}
}

func TestStreamKnowsWhatIsInFlight(t *testing.T) {
	s := &Stream{}
	s.Feed([]byte(`{"@level":"info","@message":"a.b: Creating...","@timestamp":"2026-01-02T03:04:05.678901Z","hook":{"resource":{"addr":"a.b"},"action":"create"},"type":"apply_start"}`))
	s.Feed([]byte(`{"@level":"info","@message":"a.b: Still creating...","hook":{"resource":{"addr":"a.b"},"action":"create","elapsed_seconds":10},"type":"apply_progress"}`))
	s.Feed([]byte("panic: runtime error\n"))
	got := s.InFlight()
	if len(got) != 1 || got[0].Address != "a.b" || got[0].Elapsed.Seconds() != 10 || got[0].Started.IsZero() {
		t.Errorf("%+v", got)
	}
	if diff := cmp.Diff([]string{"panic: runtime error"}, s.Raw); diff != "" {
		t.Error(diff)
	}
}

func TestStateDumpIsTakenOutOfItsLine(t *testing.T) {
	line := []byte(`{"@level":"info","@message":"Emergency state dump","state":{"secret":"s3cr3t"},"type":"log"}`)
	clean, state := TakeState(line)
	if strings.Contains(string(clean), "s3cr3t") || string(state) != `{"secret":"s3cr3t"}` {
		t.Errorf("clean %s state %s", clean, state)
	}
	if text := RenderLine(line, false); strings.Contains(text, "s3cr3t") || !strings.Contains(text, "Emergency state dump") {
		t.Errorf("rendered %q", text)
	}
}

// TestLogLinesHaveNoSensitiveValues runs the check in which tofu itself shows
// a sensitive value.
func TestLogLinesHaveNoSensitiveValues(t *testing.T) {
	w := newWorkdir(t, `variable "password" {
  sensitive = true
  default   = "s3cr3t"
}
check "c" {
  assert {
    condition     = var.password == "x"
    error_message = "No."
  }
}`)
	out := w.run("plan", "-json")
	if !bytes.Contains(out, []byte("s3cr3t")) {
		t.Log("this tofu does not show it any more")
	}
	found := false
	for line := range bytes.Lines(out) {
		clean, _ := TakeState(line)
		if bytes.Contains(clean, []byte("s3cr3t")) || strings.Contains(RenderLine(line, false), "s3cr3t") {
			t.Errorf("shown in %s", clean)
		}
		if e := ParseEvent(clean); e.Diagnostic != nil {
			found = true
			if diff := cmp.Diff(ParseEvent(line), e); diff != "" {
				t.Error(diff)
			}
		}
	}
	if !found {
		t.Errorf("no diagnostic in\n%s", out)
	}
}

func TestRenderLine(t *testing.T) {
	cases := map[string]struct{ in, want string }{
		"a line that is no message stays":     {"hello\x1b[31m\n", `hello\u001b[31m`},
		"a planned change gets its symbol":    {`{"@message":"x","type":"planned_change","change":{"resource":{"addr":"a.b"},"action":"replace","reason":"cannot_update"}}`, "-/+ a.b (cannot update)"},
		"the end of a refresh is not news":    {`{"@message":"a.b: Refresh complete","type":"refresh_complete"}`, ""},
		"values of outputs are shown":         {`{"@message":"Outputs: 2","type":"outputs","outputs":{"a":{"value":[1, 2]},"b":{"sensitive":true}}}`, "a = [1,2]\nb = (sensitive value)"},
		"unchanged outputs are not news":      {`{"@message":"Outputs: 1","type":"outputs","outputs":{"a":{"action":"noop"}}}`, ""},
		"messages of init have no type":       {`{"@message":"Initializing the backend..."}`, "Initializing the backend..."},
		"a diagnostic is several lines":       {`{"@message":"Error: Bad","type":"diagnostic","diagnostic":{"severity":"error","summary":"Bad","detail":"Very."}}`, "Error: Bad\n\nVery."},
		"an unknown type shows its message":   {`{"@message":"news","type":"from_the_future"}`, "news"},
		"JSON of somebody else is no message": {`{"a":1}`, `{"a":1}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, RenderLine([]byte(c.in), false)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func FuzzStream(f *testing.F) {
	f.Add([]byte(`{"@level":"info","@message":"m","@timestamp":"2026-01-02T03:04:05Z","type":"apply_start","hook":{"resource":{"addr":"a"},"action":"create"}}`))
	f.Add([]byte(`{"@message":"m","type":"diagnostic","diagnostic":{"severity":"error","summary":"s","snippet":{"code":"é\tx","highlight_start_offset":1,"highlight_end_offset":99,"values":[{}]},"range":{"filename":"f"}}}`))
	f.Add([]byte(`{"@message":"m","type":"change_summary","changes":{"add":1,"operation":"plan"}}`))
	f.Add([]byte("not json\r\n"))
	f.Fuzz(func(t *testing.T, line []byte) {
		s := &Stream{}
		for range 2 {
			e := s.Feed(line)
			e.Render(true)
			if strings.Contains(e.Render(false), "\x1b") {
				t.Errorf("escape sequence in %q", e.Render(false))
			}
		}
		_ = s.Errors().Error()
		s.InFlight()
		TakeState(line)
	})
}
