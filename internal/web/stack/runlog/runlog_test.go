// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestHTML(t *testing.T) {
	for sentence, c := range map[string]struct{ text, want string }{
		"text stays text":                    {"a <b> & c", "a &lt;b&gt; &amp; c"},
		"script is text":                     {"<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"},
		"a colour is a class":                {"\x1b[31mred\x1b[0m plain", `<span class="term-fg31">red</span> plain`},
		"coloured script is text":            {"\x1b[1m<img src=x onerror=alert(1)>\x1b[0m", `<span class="term-fg1">&lt;img src=x onerror=alert(1)&gt;</span>`},
		"a link is text":                     {"\x1b]8;;javascript:alert(1)\x07x\x1b]8;;\x07", `\u001b]8;;javascript:alert(1)\u0007x\u001b]8;;\u0007`},
		"a picture is text":                  {"\x1b]1338;url=http://evil.example/x.png;alt=x\x07", `\u001b]1338;url=http:&#47;&#47;evil.example&#47;x.png;alt=x\u0007`},
		"an image of iTerm is text":          {"\x1b]1337;File=name=a.svg;inline=1:PHN2Zz4=\x07\x1b[31m", `\u001b]1337;File=name=a.svg;inline=1:PHN2Zz4=\u0007`},
		"a cursor that moves is text":        {"safe\x1b[2K\x1b[1Adanger", `safe\u001b[2K\u001b[1Adanger`},
		"a carriage return overwrites not":   {"approved\rrejected", "approvedrejected"},
		"text that turns its order shows it": {"a\u202eb", `a\u202eb`},
		"bytes that are no text":             {"\x1b[31m\xff\x1b[0m", `<span class="term-fg31">` + "\uFFFD" + `</span>`},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(c.want, string(HTML(c.text))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// message is a line of tofu.
func message(kind, text string, more ...any) string {
	m := map[string]any{"@level": "info", "@message": text, "@timestamp": "2026-01-02T15:04:05Z", "type": kind}
	for i := 0; i < len(more); i += 2 {
		m[more[i].(string)] = more[i+1]
	}
	line, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(line) + "\n"
}

func hook(address, action string, seconds int) map[string]any {
	return map[string]any{"resource": map[string]any{"addr": address}, "action": action, "elapsed_seconds": seconds, "id_value": "i-1"}
}

// shown is what a window shows, a line each.
func shown(w *Window) string {
	var b strings.Builder
	for _, l := range w.Lines {
		fmt.Fprintf(&b, "%d %s%s\n", l.Number, strings.Repeat("!", len(l.Level)), l.HTML)
	}
	return b.String()
}

func TestRead(t *testing.T) {
	log := message("version", "OpenTofu 1.12") + message("refresh_complete", "nobody cares") + "a line of a hook\n" +
		message("log", "careful", "@level", "warn") + message("diagnostic", "Error: no", "@level", "error") + "the end without a line break"
	for sentence, c := range map[string]struct {
		options               Options
		want                  string
		earlier, later, found any
	}{
		"the whole log, without what nobody reads": {Options{Most: 10}, "1 OpenTofu 1.12\n3 a line of a hook\n4 !!!!careful\n5 !!!!!Error: no\n6 the end without a line break\n", false, false, 5},
		"its last lines":         {Options{Most: 2}, "5 !!!!!Error: no\n6 the end without a line break\n", true, false, 5},
		"from a line on":         {Options{From: 3, Most: 2}, "3 a line of a hook\n4 !!!!careful\n", true, true, 5},
		"what has a text":        {Options{Most: 10, Find: "LINE"}, "3 a line of a hook\n6 the end without a line break\n", false, false, 2},
		"warnings and more":      {Options{Most: 10, Level: "warn"}, "4 !!!!careful\n5 !!!!!Error: no\n", false, false, 2},
		"errors":                 {Options{Most: 10, Level: "error"}, "5 !!!!!Error: no\n", false, false, 1},
		"a text that is missing": {Options{Most: 10, Find: "<script>"}, "", false, false, 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			w, err := Read(strings.NewReader(log), c.options)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, shown(w)); diff != "" {
				t.Error(diff)
			}
			if w.Total != 6 || w.Earlier != c.earlier || w.Later != c.later || w.Found != c.found {
				t.Errorf("%d lines, earlier %v, later %v, found %d", w.Total, w.Earlier, w.Later, w.Found)
			}
		})
	}
}

func TestALineOfFiveMegabytesIsCut(t *testing.T) {
	const five = 5 << 20
	log := "before\n" + strings.Repeat("x", five) + "\n" + message("log", strings.Repeat("é", maxText)) + "after\n"
	w, err := Read(strings.NewReader(log), Options{Most: 10})
	if err != nil || len(w.Lines) != 4 {
		t.Fatal(err, len(w.Lines))
	}
	for i, want := range []string{"", fmt.Sprintf("This line is cut: it has %d bytes.", five+1), fmt.Sprintf("This line is cut: it has %d bytes.", 2*maxText), ""} {
		if w.Lines[i].Cut != want || len(w.Lines[i].HTML) > 2*maxText {
			t.Errorf("line %d: %d bytes, %q", i+1, len(w.Lines[i].HTML), w.Lines[i].Cut)
		}
	}
	if w.Lines[3].Number != 4 {
		t.Errorf("the line after it has number %d", w.Lines[3].Number)
	}
}

func TestALogThatBreaksOffIsReadAsFarAsItGoes(t *testing.T) {
	broken := errors.New("the server went away")
	w, err := Read(io.MultiReader(strings.NewReader("one\ntwo\n"), failing{broken}), Options{Most: 10})
	if !errors.Is(err, broken) || shown(w) != "1 one\n2 two\n" {
		t.Errorf("%v %q", err, shown(w))
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestProgress(t *testing.T) {
	log := message("change_summary", "Plan: 3 to add", "changes", map[string]any{"add": 3, "operation": "plan"}) +
		message("apply_start", "a: Creating...", "hook", hook("a", "create", 0)) +
		message("apply_start", "b: Creating...", "hook", hook("b", "create", 0)) +
		message("apply_start", "c\x1b[2K: Creating...", "hook", hook("c\x1b[2K", "create", 0)) +
		message("apply_progress", "b: Still creating...", "hook", hook("b", "create", 10)) +
		message("apply_complete", "a: done", "hook", hook("a", "create", 3)) +
		message("apply_errored", "c: failed", "hook", hook("c\x1b[2K", "create", 4)) +
		message("apply_complete", "never began", "hook", hook("z", "create", 1))
	w, err := Read(strings.NewReader(log), Options{Most: 1})
	if err != nil {
		t.Fatal(err)
	}
	p, began := w.Progress, time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	if p.Planned.Add != 3 || p.Running != 1 || p.Done != 1 || p.Failed != 1 || p.Total() != 3 {
		t.Errorf("%+v", p)
	}
	a := Resource{Address: "a", Action: "create", State: "done", Started: began, Took: 3 * time.Second, ID: "i-1"}
	b := Resource{Address: "b", Action: "create", State: "running", Started: began, Took: 10 * time.Second}
	c := Resource{Address: `c\u001b[2K`, Action: "create", State: "failed", Started: began, Took: 4 * time.Second, ID: "i-1"}
	if diff := cmp.Diff([]Resource{a, b, c}, p.Shown(10)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Resource{b, c}, p.Shown(2)); diff != "" {
		t.Errorf("what failed and what is in progress comes first: %s", diff)
	}
}

func TestNamesOfTheProgressAreCut(t *testing.T) {
	long := strings.Repeat("x", 200_000)
	start, end := hook(long, "create", 0), hook(long, "create", 3)
	end["id_value"] = long
	w, err := Read(strings.NewReader(message("apply_start", "a", "hook", start)+message("apply_complete", "a", "hook", end)), Options{Most: 1})
	if err != nil {
		t.Fatal(err)
	}
	shown := w.Progress.Shown(1)
	if len(shown) != 1 || shown[0].State != "done" || len(shown[0].Address) > maxName+8 || len(shown[0].ID) > maxName+8 {
		t.Errorf("%d resources: %d and %d bytes", len(shown), len(shown[0].Address), len(shown[0].ID))
	}
	for key := range w.Progress.byKey {
		if len(key.address) > maxName+8 {
			t.Errorf("a key of %d bytes", len(key.address))
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(message("apply_start", "x", "hook", hook("a", "create", 0))), "x")
	f.Add([]byte("{\"@message\":null}\n\x1b[31m\x00\xff"), "")
	f.Fuzz(func(t *testing.T, log []byte, find string) {
		w, err := Read(strings.NewReader(string(log)), Options{Most: 5, Find: find})
		if err != nil || len(w.Lines) > 5 {
			t.Fatal(err, len(w.Lines))
		}
		for _, l := range w.Lines {
			text := strings.ReplaceAll(string(l.HTML), "</span>", "")
			for strings.Contains(text, `<span class="term-`) {
				before, rest, _ := strings.Cut(text, `<span class="term-`)
				_, after, _ := strings.Cut(rest, ">")
				text = before + after
			}
			if strings.ContainsAny(text, "<>\x1b") {
				t.Errorf("markup of the log is markup of the page: %q", l.HTML)
			}
		}
	})
}
