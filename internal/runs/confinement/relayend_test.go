// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package confinement

import (
	"io"
	"os"
	"os/exec"
	"testing"
)

func TestARelayThatEndsTooEarly(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"after its program": {"echo 'yuba-sandbox: not confined: no Landlock' >&2", ""},
		"by a signal":       {"kill -9 $$", "the network of this run ended: yuba-network stopped before the program (signal: killed). Open connections hang until they time out, and new ones fail\n"},
		"by a panic": {
			"printf 'yuba-sandbox: not confined: no Landlock\\npanic: oh no\\n\\ngoroutine 1 [running]:\\n' >&2; exit 2",
			"the network of this run ended: yuba-network stopped before the program (exit status 2: panic: oh no). Open connections hang until they time out, and new ones fail\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			read, write, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			relay := exec.Command("/bin/sh", "-c", c.script)
			watch := watchRelay(relay, write)
			if err := relay.Start(); err != nil {
				t.Fatal(err)
			}
			write.Close() // as callers do
			watch.await(relay)
			text, err := io.ReadAll(read)
			if err != nil || string(text) != c.want {
				t.Errorf("%q, %v, want %q", text, err, c.want)
			}
		})
	}
}
