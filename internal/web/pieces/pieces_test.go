// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package pieces

import (
	"net/url"
	"testing"
)

func TestCut(t *testing.T) {
	rows := make([]int, 250)
	for i := range rows {
		rows[i] = i
	}
	for query, want := range map[string]struct {
		first, n      int
		before, after string
	}{
		"":               {0, 100, "", "/x?page=2"},
		"q=a%26b&page=2": {100, 100, "/x?page=1&q=a%26b", "/x?page=3&q=a%26b"},
		"page=3":         {200, 50, "/x?page=2", ""},
		"page=99":        {200, 50, "/x?page=2", ""},
		"page=-1":        {0, 100, "", "/x?page=2"},
		"page=x&marks=a": {0, 100, "", "/x?page=2"},
	} {
		cut, p := Cut(rows, &url.URL{Path: "/x", RawQuery: query})
		if cut[0] != want.first || len(cut) != want.n || p.Before != want.before || p.After != want.after {
			t.Errorf("%s: from %d, %d rows, %q %q", query, cut[0], len(cut), p.Before, p.After)
		}
	}
	if cut, p := Cut([]int(nil), &url.URL{Path: "/x"}); len(cut) != 0 || p.Pages != 1 {
		t.Errorf("nothing: %v %v", cut, p)
	}
}
