// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
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

func TestTheRelayOfAShellHasNoCredentials(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	file := filepath.Join(t.TempDir(), "environ")
	socket, err := startRelay([]string{"/bin/sh", "-c", "tr '\\0' '\\n' < /proc/$$/environ > " + file + ".new && mv " + file + ".new " + file})
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(socket)
	var text []byte
	for deadline := time.Now().Add(20 * time.Second); len(text) == 0; time.Sleep(10 * time.Millisecond) {
		if text, err = os.ReadFile(file); err != nil && time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	got := strings.Fields(string(text))
	slices.Sort(got)
	if want := []string{"GOMAXPROCS=1", "GOMEMLIMIT=256MiB", "YUBA_PROGRAM_GOMAXPROCS="}; !slices.Equal(got, want) {
		t.Errorf("the relay has %q, want %q", got, want)
	}
}
