// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package shorten

import "testing"

func TestTextIsCutBetweenCharacters(t *testing.T) {
	for want, got := range map[string]string{
		"one line of three":    Line(" one line\n\tof\r\n three "),
		"äö…":                  Cut("äöü", 2),
		"äöü":                  Cut("äöü", 3),
		"ä…":                   CutBytes("äöü", 3),
		"äöü\n":                CutBytes("äöü\n", 7),
		"main@sha1:0123456789": Revision("main@sha1:0123456789abcdef"),
		"v1.2.3":               Revision("v1.2.3"),
		"a:short":              Revision("a:short"),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
