// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTextIsAsWideAsTerminalsShowIt(t *testing.T) {
	for text, want := range map[string]int{"": 0, "vpc": 3, "東京": 4, "e\u0301te\u0301": 3, "été": 3, "🚀": 2, "ｱ": 1, "Ａ": 2, "…": 1, "a\u200bb": 2, "한국": 4} {
		if got := Length(text); got != want {
			t.Errorf("%q: %d columns, want %d", text, got, want)
		}
	}
	for _, test := range []struct {
		text  string
		width int
		want  string
	}{{"東京都", 6, "東京都"}, {"東京都", 5, "東京…"}, {"東京都", 4, "東…"}, {"e\u0301te\u0301", 3, "e\u0301te\u0301"}, {"e\u0301te\u0301s", 3, "e\u0301t…"}} {
		if got := FirstLine(test.text, test.width); got != test.want {
			t.Errorf("%q in %d columns: %q, want %q", test.text, test.width, got, test.want)
		}
	}
}

func TestColumnsBelowWideText(t *testing.T) {
	rows := [][]string{{"NAME", "READY", "MESSAGE"}, {"vpc", "東京", "ok"}, {"dns", "True", "東京の設定が見つかりません"}}
	want := []string{"NAME  READY  MESSAGE", "vpc   東京   ok", "dns   True   東京の設定が見つ…"}
	if diff := cmp.Diff(want, tableLines(rows, 30, nil)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
