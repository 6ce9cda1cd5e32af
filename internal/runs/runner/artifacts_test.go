// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

func TestArchiveIsFetchedOnceForAllStacks(t *testing.T) {
	b := newBench(t).start()
	fetched := func(r *fakeRun) bool { return slices.Contains(r.requests, "GET artifact") }
	first, second := b.stack("first", run.OperationPlan, program(twoThings)), b.stack("second", run.OperationPlan, program(twoThings))
	b.succeed(first)
	b.succeed(second)
	if !fetched(first) || fetched(second) {
		t.Errorf("fetched by the first: %v, by the second: %v", fetched(first), fetched(second))
	}
	kept, err := filepath.Glob(filepath.Join(b.opts.Dir, "artifacts", "*"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("%v: %v", kept, err)
	}
	if err := os.WriteFile(kept[0], []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	third := b.stack("third", run.OperationPlan, program(twoThings))
	if b.succeed(third); !fetched(third) {
		t.Error("a damaged archive was not fetched again")
	}
	broken := b.stack("broken", run.OperationPlan, program("locals {}"))
	broken.artifact = []byte("not the one")
	if result := b.do(broken); result.Class != run.FailureSource {
		t.Errorf("%+v", result)
	}
	if now, _ := filepath.Glob(filepath.Join(b.opts.Dir, "artifacts", "*")); len(now) != 1 {
		t.Errorf("kept: %v", now)
	}
}

func TestArchivesThatWereNotUsedGo(t *testing.T) {
	a := workspace.NewArtifacts(filepath.Join(t.TempDir(), "artifacts"))
	for i := range workspace.MaxArtifacts + 5 {
		file := filepath.Join(t.TempDir(), "archive")
		if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(time.Duration(i-1000) * time.Minute)
		if err := os.Chtimes(file, then, then); err != nil {
			t.Fatal(err)
		}
		a.Keep(file, strconv.Itoa(i))
		if i == workspace.MaxArtifacts-1 { // the oldest is used
			first, err := a.Open("0")
			if err != nil {
				t.Fatal(err)
			}
			first.Close()
		}
	}
	entries, err := os.ReadDir(a.Dir)
	if err != nil || len(entries) != workspace.MaxArtifacts {
		t.Fatalf("%d kept: %v", len(entries), err)
	}
	for name, there := range map[string]bool{"0": true, "1": false, strconv.Itoa(workspace.MaxArtifacts + 4): true} {
		if _, err := os.Stat(filepath.Join(a.Dir, name)); (err == nil) != there {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// inPart is a run of a root module that reads a part of its source.
func (b *bench) inPart(name string, operation run.Operation, other string) *fakeRun {
	r := b.stack(name, operation, map[string]string{
		"live/app/main.tf": "module \"m\" { source = \"../../modules/m\" }\n" + twoThings,
		"modules/m/m.tf":   "locals {}", "modules/mother/m.tf": "locals {}", "live/other/main.tf": other, "values.tfvars": "",
	})
	r.spec.Path = "live/app"
	r.spec.Part = &run.Part{Paths: []string{"live/app", "modules/m", "values.tfvars"}, Digest: "sha256:of-the-part"}
	return r
}

func TestOnlyWhatARunReadsIsUnpacked(t *testing.T) {
	b := newBench(t).start()
	first := b.inPart("parted", run.OperationPlanAndApply, "locals {}")
	b.succeed(first)
	tree := filepath.Join(b.opts.WorkRoot, "team", "parted", workspace.SourceDir)
	is := func(name string) bool {
		_, err := os.Lstat(filepath.Join(tree, name))
		return err == nil
	}
	for name, want := range map[string]bool{
		"live/app/main.tf": true, "modules/m/m.tf": true, "values.tfvars": true, "live/other": false, "modules/mother": false,
	} {
		if is(name) != want {
			t.Errorf("%s is there: %v", name, is(name))
		}
	}
	// A commit to another part changes nothing here.
	later := b.inPart("parted", run.OperationPlanAndApply, "locals { changed = true }")
	later.state = first.lastState()
	if result := b.succeed(later); result.Init != run.InitUnchanged || slices.Contains(later.requests, "GET artifact") || result.Plan.Changes {
		t.Errorf("init: %q, %+v, %v", result.Init, result.Plan, later.requests)
	}
	whole := b.inPart("parted", run.OperationPlanAndApply, "locals { changed = true }")
	whole.spec.Part, whole.state = nil, first.lastState()
	if b.succeed(whole); !is("live/other/main.tf") || !is("modules/mother") {
		t.Error("a run without a part lacks files of the source")
	}
}
