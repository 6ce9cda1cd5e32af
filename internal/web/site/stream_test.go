// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"net/http/httptest"
	"strings"
	"testing"
)

// Text from outside ends no event and begins none.
func TestEventsCannotBeForged(t *testing.T) {
	for _, text := range []string{"a\nevent: parts\ndata: []", "a\revent: parts\rdata: []", "a\r\n\r\nevent: parts\r\ndata: []"} {
		w := httptest.NewRecorder()
		e := newEvents(w)
		e.send("trouble", text)
		lines := strings.FieldsFunc(w.Body.String(), func(r rune) bool { return r == '\n' || r == '\r' })
		if e.err != nil || lines[0] != "event: trouble" {
			t.Fatalf("%q: %v %q", text, e.err, lines)
		}
		for _, line := range lines[1:] {
			if !strings.HasPrefix(line, "data: ") {
				t.Errorf("%q begins a line %q", text, line)
			}
		}
	}
}

func TestOnlyLocalPathsAreGoneBackTo(t *testing.T) {
	for address, want := range map[string]string{
		"http://yuba:7080/stacks?q=a#x": "/stacks?q=a", "http://evil/stacks": "", "http://yuba:7080//evil": "", "": "", "/stacks": "", "http://yuba:7080/a%2Fb": "/a%2Fb",
	} {
		if got, ok := localPath(address, "yuba:7080"); got != want || ok != (want != "") {
			t.Errorf("%s: %q %v, want %q", address, got, ok, want)
		}
	}
}

func TestNumbersAndNames(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1\u202f000", 1234567: "1\u202f234\u202f567", -1000: "-1\u202f000"} {
		if got := Grouped(n); got != want {
			t.Errorf("%d: %q", n, got)
		}
	}
	for name, want := range map[string]string{"ada.lovelace@example.com": "AL", "root": "R", "": "?", "团队": "团", "a/b/c": "AB"} {
		if got := initials(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
