// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// left are the versions in the store.
func (b *bench) left() []string {
	b.t.Helper()
	list, err := List(b.store.dir)
	if err != nil {
		b.t.Fatal(err)
	}
	var versions []string
	for _, p := range list {
		if info, err := os.Stat(p.Dir); err != nil || !info.IsDir() {
			b.t.Errorf("%s is listed and not there", p.Dir)
		}
		versions = append(versions, p.Version)
	}
	return versions
}

func TestWhatNobodyUsesGoes(t *testing.T) {
	b := newBench(t).publish("1.0.0").publish("2.0.0").publish("3.0.0").publish("4.0.0")
	start := time.Now().Truncate(time.Second)
	dirs := map[string]string{}
	var size int64
	for i, version := range []string{"1.0.0", "2.0.0", "3.0.0", "4.0.0"} {
		b.at(start.Add(time.Duration(i) * 24 * time.Hour))
		got := b.must(Want{Version: version})
		dirs[version], size = got.Dir, got.Size
	}
	month := Limits{Unused: 30 * 24 * time.Hour}
	small := Limits{Unused: month.Unused, Bytes: 2 * size}
	held, err := b.store.Scope("").Hold(b.address(), "2.0.0") // a use, on the fourth day
	if err != nil || held == nil {
		t.Fatal(held, err)
	}
	for _, c := range []struct {
		sentence string
		after    time.Duration
		limits   Limits
		linked   string
		want     []string
	}{
		{"nothing is old", 4, month, "", []string{"1.0.0", "2.0.0", "3.0.0", "4.0.0"}},
		{"too large, but linked, or held: the next oldest go", 4, small, "1.0.0", []string{"1.0.0", "2.0.0"}},
		{"a month later, linked and held", 40, month, "1.0.0", []string{"1.0.0", "2.0.0"}},
		{"no longer linked", 40, month, "", []string{"2.0.0"}},
	} {
		b.at(start.Add(c.after * 24 * time.Hour))
		if _, err := b.store.Collect(c.limits, map[string]bool{dirs[c.linked]: true}); err != nil {
			t.Errorf("%s: %v", c.sentence, err)
		}
		if got := b.left(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v are left, want %v", c.sentence, got, c.want)
		}
	}
	held.Release()
	done, err := b.store.Collect(month, nil)
	if err != nil || done.Packages != 1 || done.Bytes != size || len(b.left()) > 0 {
		t.Errorf("released: %+v %v %v", done, err, b.left())
	}
	if _, err := os.Stat(dirs["2.0.0"]); !os.IsNotExist(err) {
		t.Errorf("the files are there: %v", err)
	}
	if got := b.must(Want{Version: "2.0.0"}); !got.Downloaded {
		t.Errorf("%+v", got)
	}
}

func TestWhatWasJustUsedStaysInAnyCase(t *testing.T) {
	b := newBench(t).publish("1.0.0")
	start := time.Now()
	b.at(start)
	b.must(Want{Version: "1.0.0"})
	b.at(start.Add(minUnused - time.Minute))
	if _, err := b.store.Collect(Limits{Bytes: 1}, nil); err != nil || len(b.left()) != 1 {
		t.Errorf("%v %v", b.left(), err)
	}
}

// What a process leaves that dies between any two steps is nobody's package, stands in nobody's
// way, and goes.
func TestTheRestsOfTheDead(t *testing.T) {
	b := newBench(t).publish("1.0.0").publish("2.0.0")
	kept := b.must(Want{Version: "2.0.0"})
	scope := b.store.Scope("")
	rest := scope.packageDir(b.address(), "1.0.0")
	abandoned := filepath.Join(b.store.dir, stagingName, "fetch-1")
	busy := filepath.Join(b.store.dir, stagingName, "fetch-2")
	for _, dir := range []string{rest, abandoned, busy} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(rest, "terraform-provider-thing_v1.0.0"), []byte("half"), 0o755); err != nil {
		t.Fatal(err)
	}
	if list := b.left(); !slices.Equal(list, []string{"2.0.0"}) {
		t.Errorf("listed: %v", list)
	}
	owner, err := os.Open(busy)
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Close()
	if err := unix.Flock(int(owner.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if err := b.store.Clean(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(abandoned); !os.IsNotExist(err) {
		t.Errorf("an abandoned download: %v", err)
	}
	if _, err := os.Stat(busy); err != nil {
		t.Errorf("somebody's download: %v", err)
	}
	// A collection does the same: what counts is whether somebody works there, not for how long.
	long := time.Now().Add(-2 * leftAfter)
	if err := errors.Join(os.Mkdir(abandoned, 0o755), os.Chtimes(busy, long, long)); err != nil {
		t.Fatal(err)
	}
	if _, err := b.store.Collect(Limits{}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(abandoned); !os.IsNotExist(err) {
		t.Errorf("an abandoned download after a collection: %v", err)
	}
	if _, err := os.Stat(busy); err != nil {
		t.Errorf("somebody's download after a collection: %v", err)
	}
	// tofu links to the rest when it is asked to choose: that is noticed, and it is downloaded
	// after all.
	if got := b.must(Want{Constraints: "< 2"}); got.Version != "1.0.0" || !got.Downloaded {
		t.Errorf("%+v", got)
	}
	if err := os.Remove(scope.recordPath(b.address(), "1.0.0")); err != nil {
		t.Fatal(err)
	}
	b.at(time.Now().Add(leftAfter + time.Hour))
	if _, err := b.store.Collect(Limits{Unused: 365 * 24 * time.Hour}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(rest); !os.IsNotExist(err) {
		t.Errorf("a package without a record: %v", err)
	}
	if _, err := os.Stat(kept.Dir); err != nil {
		t.Errorf("a whole package: %v", err)
	}
}

// What is linked is known by its absolute path.
func TestAStoreThatIsNamedFromWhereItsUserIs(t *testing.T) {
	b := newBench(t)
	t.Chdir(filepath.Dir(b.store.dir))
	var err error
	if b.store, err = Open("store"); err != nil {
		t.Fatal(err)
	}
	got := b.publish("1.0.0").must(Want{Version: "1.0.0"})
	list, err := List("store")
	if err != nil || len(list) != 1 || !filepath.IsAbs(got.Dir) || list[0].Dir != got.Dir {
		t.Errorf("%+v %v, and it is in %s", list, err, got.Dir)
	}
}

func TestAStoreThatIsNotThereIsEmpty(t *testing.T) {
	if list, err := List(filepath.Join(t.TempDir(), "nowhere")); err != nil || len(list) > 0 {
		t.Errorf("%v %v", list, err)
	}
}
