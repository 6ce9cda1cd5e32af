// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package network

import "testing"

func TestNotices(t *testing.T) {
	for line, want := range map[string]bool{
		parsed(t, "example.com").Resolve("example.org").Error():               true,
		parsed(t, "example.com").Connect(destination("127.0.0.1:80")).Error(): true,
		"yuba-sandbox: not confined: this kernel has no Landlock":             false,
		"yuba-network: receive the tunnel: EOF":                               false,
		"panic: runtime error: index out of range [3] with length 3":          false,
		"goroutine 1 [running]:":                                              false,
		"":                                                                    false,
	} {
		if got := IsNotice(line); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}
