// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package environments_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheStartOfTheProgramIsShort: what packages do before main is most of what a short command costs. The
// limits are the work that it does, not its time.
func TestTheStartOfTheProgramIsShort(t *testing.T) {
	p := newPerson(t, "")
	trace := func(setting string) string {
		cmd := exec.Command(filepath.Join(p.bin, "yuba"), "env", "list")
		cmd.Dir, cmd.Env = p.dir, append(p.env, "GODEBUG="+setting)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("yuba env list: %v\n%s", err, out)
		}
		return string(out)
	}
	const collections = 3
	if n := strings.Count("\n"+trace("gctrace=1"), "\ngc "); n > collections {
		t.Errorf("%d garbage collections, want at most %d", n, collections)
	}
	for line := range strings.Lines(trace("inittrace=1")) {
		words := strings.Fields(line) // init PACKAGE @1.2 ms, 0.1 ms clock, 4377568 bytes, 5 allocs
		if len(words) > 7 && words[1] == "k8s.io/kubectl/pkg/cmd/options" && len(words[7]) > len("999999") {
			t.Errorf("kubectl loads its translations: %s", line)
		}
	}
}
