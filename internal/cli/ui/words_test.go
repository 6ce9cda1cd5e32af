// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"testing"
	"time"
)

func TestShortForms(t *testing.T) {
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	cases := map[string]struct{ got, want string }{
		"an age in seconds":                  {Age(noon, noon.Add(-90*time.Second)), "90s"},
		"an age in days":                     {Age(noon, noon.Add(-72*time.Hour)), "3d"},
		"a clock that is ahead makes no age": {Age(noon, noon.Add(time.Hour)), "0s"},
		"no time is no age":                  {Age(noon, time.Time{}), ""},
		"small sizes in bytes":               {Size(227), "227 B"},
		"large sizes in mebibytes":           {Size(300 << 20), "300 MiB"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if c.got != c.want {
				t.Errorf("got %q, want %q", c.got, c.want)
			}
		})
	}
}
