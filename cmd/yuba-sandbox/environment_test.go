// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"testing"
)

func TestTheProgramsOwnProcessors(t *testing.T) {
	for _, c := range []struct{ env, want []string }{
		{[]string{"A=b", "GOMAXPROCS=1", "YUBA_PROGRAM_GOMAXPROCS="}, []string{"A=b"}},
		{[]string{"GOMAXPROCS=1", "YUBA_PROGRAM_GOMAXPROCS=4", "A=b"}, []string{"A=b", "GOMAXPROCS=4"}},
		{[]string{"A=b", "GOMAXPROCS=2"}, []string{"A=b", "GOMAXPROCS=2"}}, // of a person's shell
		{nil, nil},
	} {
		if got := programEnvironment(c.env); !slices.Equal(got, c.want) {
			t.Errorf("%q: got %q, want %q", c.env, got, c.want)
		}
	}
}
