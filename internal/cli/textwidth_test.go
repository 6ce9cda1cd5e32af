// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTextIsAsWideAsTerminalsShowIt(t *testing.T) {
	for text, want := range map[string]int{"": 0, "vpc": 3, "東京": 4, "e\u0301te\u0301": 3, "été": 3, "🚀": 2, "ｱ": 1, "Ａ": 2, "…": 1, "a\u200bb": 2, "한국": 4} {
		if got := length(text); got != want {
			t.Errorf("%q: %d columns, want %d", text, got, want)
		}
	}
	for _, test := range []struct {
		text  string
		width int
		want  string
	}{{"東京都", 6, "東京都"}, {"東京都", 5, "東京…"}, {"東京都", 4, "東…"}, {"e\u0301te\u0301", 3, "e\u0301te\u0301"}, {"e\u0301te\u0301s", 3, "e\u0301t…"}} {
		if got := firstLine(test.text, test.width); got != test.want {
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
	if diff := cmp.Diff([]string{"A     B", "東京  x", "vpc   y"}, inColumns([][]string{{"A", "B"}, {"東京", "x"}, {"vpc", "y"}})); diff != "" {
		t.Errorf("top (-want +got):\n%s", diff)
	}
	if got := (screenLine{{"東京", ""}, {"都", ""}}).cut(5); got.length() != 4 {
		t.Errorf("%v is %d columns wide", got, got.length())
	}
}
