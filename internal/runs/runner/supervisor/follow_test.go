// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// A program that survived tofu writes a line after each read.
func TestAProgramThatWritesWithoutEndDoesNotKeepTheRunFromEnding(t *testing.T) {
	name := filepath.Join(t.TempDir(), "apply.out")
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines, end := 0, &tail{path: name, limit: 1 << 20}
	defer end.close()
	write := func() {
		if _, err := file.WriteString("y\n"); err != nil {
			t.Fatal(err)
		}
	}
	write()
	end.lines(true, func([]byte, bool) {
		if lines++; lines > 1000 {
			t.Fatal("it is read without end")
		}
		write()
	})
	if lines != 1 {
		t.Errorf("%d lines", lines)
	}
}

// A runner that adopts an apply may have missed the plan.
func TestAStateIsWithheldOnlyIfThePlanFoundNothing(t *testing.T) {
	end := &plan.Stream{}
	end.Feed([]byte(`{"@level":"info","@message":"Apply complete!","changes":{"add":3,"operation":"apply"},"type":"change_summary"}`))
	if (&follower{of: &Supervisor{Direct: true}, stream: end}).withholds() {
		t.Error("its state is withheld")
	}
	whole := &plan.Stream{}
	whole.Feed([]byte(`{"@level":"info","@message":"Plan: 0 to add","changes":{"add":0,"operation":"plan"},"type":"change_summary"}`))
	if !FoundNothing(whole) {
		t.Error("a plan without changes counts as one with changes")
	}
	whole.Feed([]byte(`{"@level":"info","@message":"x: Plan to import","change":{"resource":{"addr":"x.y"},"action":"import"},"type":"planned_change"}`))
	if FoundNothing(whole) {
		t.Error("an import counts as no change")
	}
}
