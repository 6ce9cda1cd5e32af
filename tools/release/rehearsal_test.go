// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// install.sh accepts everything that the key has signed, under whatever version.
func TestARehearsalIsNeverSigned(t *testing.T) {
	root, programsDir := repository(t, time.Now())
	commit(t, root)
	for sentence, key := range map[string]string{"without a key": "", "with a key": newKey(t), "with a key that is not there": "/missing"} {
		t.Run(sentence, func(t *testing.T) {
			t.Setenv(keyVariable, key)
			dir := filepath.Join(t.TempDir(), "dist")
			write(t, filepath.Join(dir, "yuba_1.2.3_SHA256SUMS.sig"), []byte("of the release before"), 0o644)
			var said bytes.Buffer
			args := []string{"-root", root, "-out", dir, "-programs", programsDir, "-platforms", native, "-packages=false", "-version", "v1.2.3", "-rehearsal"}
			if err := run(t.Context(), args, &said); err != nil {
				t.Fatal(err)
			}
			if want := "yuba_1.2.3_SHA256SUMS is NOT signed: this is a rehearsal\n"; said.String() != want {
				t.Errorf("it says %q, want %q", said.String(), want)
			}
			for name := range contents(t, dir) {
				if strings.HasSuffix(name, ".sig") || name == "yuba.pub" {
					t.Errorf("it has %s", name)
				}
			}
		})
	}
}

// fakeGo notes what it is to run, and writes what a release would have.
const fakeGo = `#!/bin/sh
case "$1 $2" in
"env GOOS") echo linux ;;
"env GOARCH") echo amd64 ;;
"run "*)
	echo "$*" >>"$NOTES"
	while [ "$1" != -out ]; do shift; done
	mkdir -p "$2"
	echo sums >"$2/yuba_1.2.3_SHA256SUMS"
	;;
esac
`

// Whoever checks a commit with a tag has no key.
func TestWhichCommandsRehearse(t *testing.T) {
	realMake, err := exec.LookPath("make")
	if err != nil {
		t.Fatal(err)
	}
	root, fakes := t.TempDir(), t.TempDir()
	write(t, filepath.Join(fakes, "go"), []byte(fakeGo), 0o755)
	write(t, filepath.Join(fakes, "make"), []byte("#!/bin/sh\n[ \"$1\" != release ] || exec "+realMake+" \"$@\"\n"), 0o755)
	for _, name := range []string{"Makefile", "go.mod", "tools/make-release", "tools/once-more", ".ci/run"} {
		content, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(root, name), content, 0o755)
	}
	commit(t, root)
	git(t, root, "tag", "v1.2.3")
	for command, test := range map[string]struct {
		releases  int
		rehearses bool
	}{
		realMake + " release":                            {1, false},
		realMake + " release VERSION=v1.2.4 REHEARSAL=1": {1, true},
		realMake + " release-check":                      {2, true},
		".ci/run":                                        {1, true},
	} {
		notes := filepath.Join(t.TempDir(), "notes")
		args := strings.Fields(command)
		cmd := exec.Command(args[0], args[1:]...)
		if !filepath.IsAbs(args[0]) {
			cmd.Path = filepath.Join(root, args[0])
		}
		cmd.Dir = root
		cmd.Env = []string{"PATH=" + fakes + string(filepath.ListSeparator) + os.Getenv("PATH"), "NOTES=" + notes, "TMPDIR=" + t.TempDir()}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", command, err, out)
			continue
		}
		text, err := os.ReadFile(notes)
		if err != nil {
			t.Errorf("%s: %v", command, err)
			continue
		}
		started := strings.Split(strings.TrimSpace(string(text)), "\n")
		if len(started) != test.releases {
			t.Errorf("%s: %d releases, want %d", command, len(started), test.releases)
		}
		for _, line := range started {
			if strings.HasSuffix(line, " -rehearsal") != test.rehearses {
				t.Errorf("%s: started go %s", command, line)
			}
		}
	}
}
