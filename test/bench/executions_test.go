// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEveryProgramThatIsStartedIsCounted(t *testing.T) {
	dir := t.TempDir()
	text, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	var programs []string
	for _, name := range []string{"tofu", "terraform-provider-x_v1", "other"} {
		programs = append(programs, filepath.Join(dir, name))
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, watch := range map[string]func() (*executions, error){
		"as whoever runs this": func() (*executions, error) { return watchExecutions(dir, programs...) },
		"without the right to watch a file system": func() (*executions, error) {
			e := &executions{root: dir, names: map[string]int{}, ended: make(chan struct{})}
			err := e.watchPrograms(programs)
			if err == nil {
				e.stopped, e.stop, err = os.Pipe()
			}
			go e.read()
			return e, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := watch()
			if err != nil {
				t.Fatal(err)
			}
			before, err := e.counts()
			if err != nil {
				t.Fatal(err)
			}
			const each = 50
			var all sync.WaitGroup
			for i, program := range programs {
				for range i + 1 {
					all.Go(func() {
						for range each {
							if err := exec.Command(program).Run(); err != nil {
								t.Error(err)
							}
						}
					})
				}
			}
			all.Wait()
			after, err := e.counts()
			if err != nil {
				t.Fatal(err)
			}
			want := processes{tofu: each, provider: 2 * each}
			if diff := cmp.Diff(want, started(before, after), cmp.AllowUnexported(processes{})); diff != "" {
				t.Errorf("processes (-want +got):\n%s", diff)
			}
			if err := e.close(); err != nil {
				t.Error(err)
			}
		})
	}
}
