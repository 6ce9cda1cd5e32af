// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/zap"

	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/yuba-dev/yuba/internal/testkit/damagetest"
)

// cutShort leaves what a member leaves that is killed after it made its log and before it wrote to
// it: started as it is, it has no members and elects no leader.
func cutShort(t *testing.T, dir string) {
	t.Helper()
	if err := begin(dir); err != nil {
		t.Fatal(err)
	}
	for _, sub := range []string{"snap", "wal"} {
		if err := os.MkdirAll(filepath.Join(dir, memberDir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(dir, memberDir, "wal")); err != nil {
		t.Fatal(err)
	}
	log, err := wal.Create(zap.NewNop(), filepath.Join(dir, memberDir, "wal"), []byte{8, 1, 16, 2})
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Save(raftpb.HardState{}, nil); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestFirstStartThatWasCutShortIsBegunAnew(t *testing.T) {
	f := newFixture(t)
	dir := filepath.Join(t.TempDir(), "etcd")
	cutShort(t, dir)
	server := f.start(t, dir, nil)
	put(t, connect(t, server, f.client), "key", "kept")
	if _, err := os.Stat(filepath.Join(dir, beginningName)); !os.IsNotExist(err) {
		t.Errorf("the mark of a beginning is still there: %v", err)
	}
	server.Stop()

	again := f.start(t, dir, nil)
	// One that goes on ends the process when it finds its directory gone.
	defer again.Stop()
	if got := get(t, connect(t, again, f.client), "key"); got != "kept" {
		t.Errorf("a later start holds %q", got)
	}
}

// From then on Check no longer takes the store for the remains of a first start.
func TestAFirstStartThatIsKilledOnceItAnswersIsWhole(t *testing.T) {
	f := newFixture(t)
	dir := t.TempDir()
	server := f.start(t, filepath.Join(dir, "store"), nil)
	defer server.Stop()
	killed := damagetest.Copy(t, dir)
	if facts, err := Check(filepath.Join(killed, "store"), Expect{FullLog: true}); err != nil || facts.Empty {
		t.Errorf("a copy from when the store answered: %+v, %v", facts, err)
	}
}

// Each start cuts off the log behind what is written and lengthens it again. A kill between the two
// loses nothing.
func TestAStartThatIsKilledLosesNothing(t *testing.T) {
	s := makeStores(t)
	cut := func(t *testing.T, dir string) {
		t.Helper()
		log, err := readChanges(filepath.Join(dir, "store/member/wal"), true)
		if err != nil {
			t.Fatal(err)
		}
		damagetest.Cut(t, newest(t, dir, "wal/*.wal"), func(int64) int64 { return log.used })
	}
	dir := damagetest.Copy(t, s.killed)
	cut(t, dir)
	if got := try(t, dir); !strings.Contains(got, ".wal is truncated") {
		t.Errorf("without a start it says %q", got)
	}
	dir = damagetest.Copy(t, s.killed)
	store := filepath.Join(dir, "store")
	if err := begin(store); err != nil {
		t.Fatal(err)
	}
	cut(t, dir)
	if got := try(t, dir); got != fmt.Sprint("started with ", keys) {
		t.Errorf("it says %q", got)
	}
	if starting(store) {
		t.Error("the mark of a start is still there after it")
	}
	// A log that lost its end is found even then.
	dir = damagetest.Copy(t, s.killed)
	if err := begin(filepath.Join(dir, "store")); err != nil {
		t.Fatal(err)
	}
	damagetest.Cut(t, newest(t, dir, "wal/*.wal"), func(int64) int64 { return 100_000 })
	if got := try(t, dir); !strings.Contains(got, "member/wal ends with change") {
		t.Errorf("a log that is cut off passes: %q", got)
	}
}
