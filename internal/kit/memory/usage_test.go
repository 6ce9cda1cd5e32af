// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"os/exec"
	"runtime"
	"testing"
)

func TestMeasure(t *testing.T) {
	before := Measure()
	if runtime.GOOS == "linux" && before.Memory < 1<<20 {
		t.Errorf("a Go program in %d bytes", before.Memory)
	}
	if before.CPU <= 0 {
		t.Errorf("this process took no CPU time: %v", before.CPU)
	}
	if err := exec.Command("sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done").Run(); err != nil {
		t.Fatal(err)
	}
	if after := Measure(); after.Children <= before.Children {
		t.Errorf("a process of %v took nothing: %v", before.Children, after.Children)
	}
}
