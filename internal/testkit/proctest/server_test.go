// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package proctest_test

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/testkit/proctest"
)

func TestAServerIsAwaited(t *testing.T) {
	for sentence, test := range map[string]struct {
		script   string
		patience time.Duration
		problem  string
	}{
		"ready":            {"echo begins >&2; echo a word; echo ready at once; read x", time.Minute, ""},
		"ended":            {"echo no port >&2; echo a word", time.Minute, "ended:\nno port\n"},
		"silent":           {"echo thinks >&2; echo a word; read x", 2 * time.Second, `does not say "ready"`},
		"ready and talkin": {"echo ready; i=0; while [ $i -lt 20000 ]; do echo aaaaaaaaaaaaaaaa; i=$((i+1)); done; echo talked >&2; read x", time.Minute, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			var log proctest.Log
			cmd := exec.Command("/bin/sh", "-c", test.script)
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			err = proctest.Start(cmd, "ready", &log, test.patience)
			if test.problem != "" {
				if err == nil || !strings.Contains(err.Error(), test.problem) {
					t.Errorf("got %v, want %q", err, test.problem)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			in.Close()
			if err := cmd.Wait(); err == nil || log.Text() == "" || log.Tail() != log.Text() { // read fails at the end of its input
				t.Errorf("%v; it logged %q", err, log.Text())
			}
		})
	}
}
