// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package ci tests how CI runs the tests.
package ci

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// outputs are outputs of "go test", and whether tools/once-more retries them.
var outputs = map[string]struct {
	first, again string
	passes       bool
	asked, said  string
}{
	"all is well":                     {first: "ok  \tm/a\t1.0s\n", passes: true},
	"one test, which passes then":     {first: "--- FAIL: TestA (1.00s)\n    a_test.go:1: x\nFAIL\nFAIL\tm/a\t1.0s\nok  \tm/b\t1.0s\nFAIL\n", again: "ok  \tm/a\t1.0s\n", passes: true, asked: "m/a -count=1 -run '^(TestA)$'", said: "passed only when it was run again: m/a TestA"},
	"two tests of one package":        {first: "--- FAIL: TestA (1.00s)\n--- FAIL: TestB (1.00s)\nFAIL\tm/a\t1.0s\n", again: "ok  \tm/a\t1.0s\n", passes: true, asked: "m/a -count=1 -run '^(TestA|TestB)$'", said: "m/a TestA|TestB"},
	"a test of each of two packages":  {first: "--- FAIL: TestA (1.00s)\nFAIL\tm/a\t1.0s\n--- FAIL: TestB (1.00s)\nFAIL\tm/b\t1.0s\n", again: "ok  \tm/a\t1.0s\n", passes: true, asked: "m/b -count=1 -run '^(TestB)$'", said: "m/b TestB"},
	"one test, which fails again":     {first: "--- FAIL: TestA (1.00s)\nFAIL\tm/a\t1.0s\n", again: "FAIL\tm/a\t1.0s\n", asked: "m/a -count=1"},
	"a subtest is part of its test":   {first: "--- FAIL: TestA (1.00s)\n    --- FAIL: TestA/x (1.00s)\nFAIL\tm/a\t1.0s\n", again: "ok  \tm/a\t1.0s\n", passes: true, asked: "m/a -count=1 -run '^(TestA)$'"},
	"too many tests":                  {first: strings.Repeat("--- FAIL: TestA (1.00s)\n", 4) + "FAIL\tm/a\t1.0s\n"},
	"a data race":                     {first: "WARNING: DATA RACE\n--- FAIL: TestA (1.00s)\nFAIL\tm/a\t1.0s\n"},
	"a panic":                         {first: "--- FAIL: TestA (1.00s)\npanic: test timed out after 1s\nFAIL\tm/a\t1.0s\n"},
	"what does not compile":           {first: "FAIL\tm/a [build failed]\n--- FAIL: TestB (1.00s)\nFAIL\tm/b\t1.0s\n"},
	"a package that fails by itself":  {first: "FAIL\tm/a\t1.0s\n--- FAIL: TestB (1.00s)\nFAIL\tm/b\t1.0s\n"},
	"make fails, and no test with it": {first: "FAIL\n"},
}

func TestOnlyAFewTestsAreTriedOnceMore(t *testing.T) {
	script, err := filepath.Abs("../../tools/once-more")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range outputs {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			// PACKAGES is not set the first time.
			makefile := "t:\n\t@if [ -n '$(PACKAGES)' ]; then cat again; printf '%s\\n' \"$(PACKAGES) $(TESTFLAGS)\" >> asked; else cat first; fi\n" +
				"\t@! grep -q ^FAIL $(if $(PACKAGES),again,first)\n"
			for file, text := range map[string]string{"Makefile": makefile, "first": c.first, "again": c.again, "asked": ""} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command(script, "t")
			cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH")}
			said, err := cmd.CombinedOutput()
			if passed := err == nil; passed != c.passes || !strings.Contains(string(said), c.said) {
				t.Errorf("passed: %v, want %v, and to hear %q:\n%s", passed, c.passes, c.said, said)
			}
			asked, err := os.ReadFile(filepath.Join(dir, "asked"))
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.TrimSpace(string(asked)); !strings.Contains(got, c.asked) || c.asked == "" && got != "" {
				t.Errorf("ran again %q, want %q", got, c.asked)
			}
		})
	}
}
