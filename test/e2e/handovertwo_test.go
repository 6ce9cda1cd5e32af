// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/cli/handover"
	"github.com/yuba-dev/yuba/internal/kit/moving"
)

// Two machines work on one stack: one hands it over, the other takes it back. Whatever the order, at most one owner
// remains.
func TestTwoMachinesMakeOneOwner(t *testing.T) {
	t.Parallel()
	y, ns := readyForHandover(t)
	laptop, other := y.session(t), y.session(t)
	always := func(string) error { return nil }
	back := func(key client.ObjectKey, abandoned bool) error {
		return handover.Request{Abandoned: abandoned, Step: always}.TakeBack(t.Context(), other, key)
	}
	left := func(dir string, key client.ObjectKey) []string {
		entries, err := os.ReadDir(filepath.Join(dir, key.Namespace))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}

	// The take-back comes while the directory is written and proven: it wins, and nothing is armed.
	obj, id := y.owned(t, ns, "proving")
	key, dir := client.ObjectKeyFromObject(obj), t.TempDir()
	err := handover.Request{To: "tofu", Dir: dir, Step: func(step string) error {
		if step == "written" {
			return back(key, false)
		}
		return nil
	}}.HandOver(t.Context(), laptop, key)
	if err == nil || !strings.Contains(err.Error(), "somebody has changed its mark") {
		t.Errorf("the hand-over after the take-back: %v", err)
	}
	if names := left(dir, key); len(names) > 0 {
		t.Errorf("it left %v", names)
	}
	y.backAgain(t, obj, id, "taken back during the proof")

	// The take-back comes between the mark and the directory's name: it is refused, and the hand-over ends well.
	obj, _ = y.owned(t, ns, "arming")
	key, dir = client.ObjectKeyFromObject(obj), t.TempDir()
	var refused error
	err = handover.Request{To: "tofu", Dir: dir, Step: func(step string) error {
		if step == "arming" {
			refused = back(key, false)
		}
		return nil
	}}.HandOver(t.Context(), laptop, key)
	if err != nil || refused == nil || !strings.Contains(refused.Error(), "--abandoned") {
		t.Errorf("the hand-over: %v; the take-back: %v", err, refused)
	}
	if h, _ := moving.HandedOver(y.stack(t, ns, "arming")); h.Phase != moving.PhaseDone {
		t.Errorf("its mark is %+v", h)
	}

	// The laptop dies just before, or just after, the directory has its name. The other machine has no directory.
	for _, step := range []string{"arming", "armed"} {
		obj, id = y.owned(t, ns, "dead-"+step)
		key, dir = client.ObjectKeyFromObject(obj), t.TempDir()
		request := handover.Request{To: "tofu", Dir: dir, Step: func(s string) error {
			if s == step {
				return errEnded
			}
			return nil
		}}
		if err := request.HandOver(t.Context(), laptop, key); !errors.Is(err, errEnded) {
			t.Fatalf("%s: %v", step, err)
		}
		away := dir + ".away"
		if err := os.Rename(dir, away); err != nil {
			t.Fatal(err)
		}
		if err := back(key, false); err == nil || !strings.Contains(err.Error(), "--abandoned") {
			t.Errorf("%s: without the directory: %v", step, err)
		}
		request.Step = always
		if err := request.HandOver(t.Context(), other, key); err == nil || !strings.Contains(err.Error(), "another call of the command") {
			t.Errorf("%s: continued on another machine: %v", step, err)
		}
		y.onlyOneRuns(t, dir, key, step)
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(away, dir); err != nil {
			t.Fatal(err)
		}
		// The laptop continues.
		if err := request.HandOver(t.Context(), laptop, key); err != nil {
			t.Fatalf("%s, and again: %v", step, err)
		}
		if names := left(dir, key); len(names) != 1 || names[0] != key.Name {
			t.Errorf("%s: it left %v", step, names)
		}
		if err := back(key, false); err != nil {
			t.Fatal(err)
		}
		y.backAgain(t, obj, id, step)
	}

	// Somebody vouches wrongly that nobody will run it: the directory of the living hand-over does not work.
	obj, id = y.owned(t, ns, "abandoned")
	key, dir = client.ObjectKeyFromObject(obj), t.TempDir()
	err = handover.Request{To: "tofu", Dir: dir, Step: func(step string) error {
		if step == "arming" {
			return back(key, true)
		}
		return nil
	}}.HandOver(t.Context(), laptop, key)
	if err == nil || !strings.Contains(err.Error(), "tofu refuses to work in") {
		t.Errorf("the hand-over after --abandoned: %v", err)
	}
	if out, err := ownersTofu(t, filepath.Join(dir, ns, key.Name, "program"), "init"); err == nil || !strings.Contains(out, "was taken back by Yuba") {
		t.Errorf("the abandoned directory works: %v\n%s", err, out)
	}
	y.backAgain(t, obj, id, "abandoned")
}
