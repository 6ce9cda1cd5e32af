// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// large makes an archive large: numbers do not compress well.
func large() string {
	var text strings.Builder
	random := rand.New(rand.NewPCG(1, 2))
	for text.Len() < 4*workspace.SmallArchive {
		fmt.Fprintln(&text, random.Uint64())
	}
	return text.String()
}

func TestPartsComeFromOneTree(t *testing.T) {
	b := newBench(t).start()
	files := map[string]string{"other/large.txt": large()}
	for i := range 3 {
		files[fmt.Sprintf("live/app%d/main.tf", i)] = fmt.Sprintf("module \"m\" { source = \"../../modules/m\" }\noutput \"n\" { value = %d }\n", i)
	}
	files["modules/m/m.tf"] = "locals {}"
	for i := range 3 {
		app := fmt.Sprintf("live/app%d", i)
		r := b.stack(fmt.Sprint("app", i), run.OperationPlanAndApply, files)
		r.spec.Path, r.spec.Part = app, &run.Part{Paths: []string{app, app + "/main.tf", "modules/m", "gone.tfvars"}, Digest: fmt.Sprint("sha256:", i)}
		b.succeed(r)
		tree := filepath.Join(b.opts.WorkRoot, "team", fmt.Sprint("app", i), workspace.SourceDir)
		text, err := os.ReadFile(filepath.Join(tree, app, "main.tf"))
		if err != nil || string(text) != files[app+"/main.tf"] {
			t.Errorf("%s: %v", text, err)
		}
		if entries, err := os.ReadDir(filepath.Join(tree, "live")); err != nil || len(entries) != 1 {
			t.Errorf("%v: %v", entries, err)
		}
		if _, err := os.Stat(filepath.Join(tree, "other")); err == nil {
			t.Error("files that the run does not read are there")
		}
		// Writes to a working directory do not reach other ones.
		if err := os.WriteFile(filepath.Join(tree, "modules", "m", "m.tf"), []byte("of one stack"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	shared, err := filepath.Glob(filepath.Join(b.opts.Dir, "trees", "*"))
	if err != nil || len(shared) != 1 {
		t.Fatalf("%v: %v", shared, err)
	}
	if text, err := os.ReadFile(filepath.Join(shared[0], "modules", "m", "m.tf")); err != nil || string(text) != "locals {}" {
		t.Errorf("%s: %v", text, err)
	}
}

func TestTreesThatWereNotUsedGo(t *testing.T) {
	trees := workspace.NewTrees(t.TempDir())
	var leaveFirst func()
	for i := range workspace.MaxTrees + 3 {
		path, leave := trees.Use(fmt.Sprint("tree", i))
		for _, dir := range []string{path, filepath.Join(trees.Dir, fmt.Sprintf(".tree%d.extract-1", i))} {
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if i == 0 {
			leaveFirst = leave
			continue
		}
		leave()
	}
	is := func(i int) bool {
		_, err := os.Stat(filepath.Join(trees.Dir, fmt.Sprint("tree", i)))
		return err == nil
	}
	if !is(0) || is(1) || !is(workspace.MaxTrees+2) {
		t.Errorf("the one in use: %v, an old one: %v, the last: %v", is(0), is(1), is(workspace.MaxTrees+2))
	}
	if leaveFirst(); is(0) {
		t.Error("the unused oldest one is still there")
	}
	if entries, err := os.ReadDir(trees.Dir); err != nil || len(entries) != 2*workspace.MaxTrees {
		t.Errorf("%d entries: %v", len(entries), err)
	}
}

func TestLargeTreesLeaveRoomForFewer(t *testing.T) {
	trees := workspace.NewTrees(t.TempDir())
	for i, size := range []int64{1, workspace.MaxTreeBytes / 2, workspace.MaxTreeBytes / 2, workspace.MaxTreeBytes + 1} {
		name := fmt.Sprint("tree", i)
		path, leave := trees.Use(name)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		trees.Unpacked(name, archive.Manifest{Files: map[string]archive.Stat{"a": {Size: size - 1}, "b": {Size: 1}}})
		leave()
		entries, err := os.ReadDir(trees.Dir)
		if want := []int{1, 2, 2, 1}[i]; err != nil || len(entries) != want || len(trees.Sizes) != want {
			t.Errorf("after %d: %v, %v: %v", i, entries, trees.Sizes, err)
		}
	}
}
