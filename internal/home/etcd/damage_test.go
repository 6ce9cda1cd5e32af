// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/yuba-dev/yuba/internal/testkit/damagetest"
)

var (
	seedFlag   = flag.Uint64("seed", 1, "of random damage")
	rounds     = flag.Int("rounds", 24, "how often a store is damaged at random")
	childStore = "YUBA_TEST_ETCD_DIR"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childStore); dir != "" {
		os.Exit(child(dir))
	}
	os.Exit(m.Run())
}

// keys is how many there are in the store of these tests: enough for several levels of pages.
const keys = 3000

func valueOf(i int) string {
	return fmt.Sprintf("%x:%s", sha256.Sum256(fmt.Append(nil, i)), strings.Repeat(fmt.Sprint(i, " "), 20))
}

// plausible knows the values of these tests, as the API server's are known by their form.
func plausible(key, value []byte) bool {
	var i int
	_, err := fmt.Sscanf(string(key), "key/%d", &i)
	return err != nil || string(value) == valueOf(i)
}

var expected = Expect{Plausible: plausible, FullLog: true}

// child starts what Check lets pass and says how many keys it has: a panic ends only this process.
func child(dir string) int {
	store := filepath.Join(dir, "store")
	facts, err := Check(store, expected)
	if err != nil {
		fmt.Println("refused:", err)
		return 0
	}
	f := fixture{dir: dir}
	if err := f.load(); err != nil {
		fmt.Println("failed:", err)
		return 1
	}
	server, err := Start(context.Background(), Options{Dir: store, Facts: facts, TLS: f.server, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println("failed:", err)
		return 1
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{server.Endpoint()}, TLS: f.client})
	if err != nil {
		fmt.Println("failed:", err)
		return 1
	}
	response, err := client.Get(context.Background(), "key/", clientv3.WithPrefix())
	if err != nil {
		fmt.Println("failed:", err)
		return 1
	}
	whole := 0
	for _, kv := range response.Kvs {
		if plausible(kv.Key, kv.Value) {
			whole++
		}
	}
	fmt.Println("started with", whole)
	client.Close()
	server.Stop()
	return 0
}

// stores are directories of a store as it was stopped, and as it was killed.
type stores struct{ stopped, killed string }

func makeStores(t *testing.T) stores {
	t.Helper()
	dir := t.TempDir()
	f := fixture{dir: dir}
	if err := f.load(); err != nil {
		t.Fatal(err)
	}
	store := filepath.Join(dir, "store")
	server := f.start(t, store, func(o *Options) { o.SnapshotEvery = 40 })
	client := connect(t, server, f.client)
	for i := 0; i < keys; i += 50 {
		var puts []clientv3.Op
		for j := i; j < i+50; j++ {
			puts = append(puts, clientv3.OpPut(fmt.Sprintf("key/%05d", j), valueOf(j)))
		}
		if _, err := client.Txn(t.Context()).Then(puts...).Commit(); err != nil {
			t.Fatal(err)
		}
	}
	s := stores{killed: t.TempDir(), stopped: t.TempDir()}
	// What is on disk now is what a kill leaves. The last tenth of a second is in the log only:
	// zeros in its place cannot be told from what a power cut leaves of entries that nobody was
	// told are stored.
	server.member.Server.Backend().ForceCommit()
	damagetest.CopyTo(t, dir, s.killed)
	client.Close()
	server.Stop()
	damagetest.CopyTo(t, dir, s.stopped)
	return s
}

// try starts what is in a directory, in a process of its own.
func try(t *testing.T, dir string) string {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	command := exec.CommandContext(ctx, executable)
	command.Env = append(os.Environ(), childStore+"="+dir)
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	err = command.Run()
	if ctx.Err() != nil {
		t.Fatalf("it hangs, and says %s", out.String())
	}
	if text := out.String(); err != nil || strings.Contains(text, "panic") || strings.Contains(text, "goroutine ") {
		t.Fatalf("it ends with %v: %s", err, text)
	}
	return strings.TrimSpace(out.String())
}

func newest(t *testing.T, dir, pattern string) string {
	t.Helper()
	return damagetest.Newest(t, filepath.Join(dir, "store", "member", pattern))
}

// damages are what may happen to a store, and what is said then.
var damages = map[string]struct {
	damage func(t *testing.T, dir string)
	// stopped and killed are what is said.
	stopped, killed string
	// whole: a store can be made of the database.
	whole bool
}{
	"the database is gone": {func(t *testing.T, dir string) { damagetest.Remove(t, newest(t, dir, "snap/db")) }, "member/snap/db is missing", "member/snap/db is missing", false},
	"the database is half": {func(t *testing.T, dir string) {
		path := newest(t, dir, "snap/db")
		d, end, err := openDatabase(path)
		if err != nil {
			t.Fatal(err)
		}
		defer end()
		damagetest.Cut(t, path, func(int64) int64 { return int64(d.high * d.page / 2) })
	}, "member/snap/db is truncated", "member/snap/db is truncated", false},
	"the database is empty": {func(t *testing.T, dir string) { damagetest.Cut(t, newest(t, dir, "snap/db"), damagetest.Empty) },
		"member/snap/db is truncated", "member/snap/db is not a database", false},
	"the database's beginning is zero": {func(t *testing.T, dir string) {
		damagetest.Overwrite(t, newest(t, dir, "snap/db"), 0, make([]byte, 64<<10))
	},
		"has changed since", "has no intact meta page", false},
	"pages of the database are zero": {func(t *testing.T, dir string) { zeroPages(t, newest(t, dir, "snap/db")) }, "has changed since", "member/snap/db is damaged", false},
	"the log is gone": {func(t *testing.T, dir string) { damagetest.Remove(t, filepath.Dir(newest(t, dir, "wal/*.wal"))) },
		".wal is missing", "member/wal is missing", true},
	"the log has no files": {func(t *testing.T, dir string) {
		damagetest.Remove(t, filepath.Dir(newest(t, dir, "wal/*.wal")))
		if err := os.Mkdir(filepath.Join(dir, "store/member/wal"), 0o700); err != nil {
			t.Fatal(err)
		}
	}, ".wal is missing", "member/wal is empty", true},
	"the log's last file is empty": {func(t *testing.T, dir string) { damagetest.Cut(t, newest(t, dir, "wal/*.wal"), damagetest.Empty) }, ".wal is truncated: it has 0 bytes", ".wal is truncated: it has 0 bytes", true},
	"the log's last file is short": {func(t *testing.T, dir string) { damagetest.Cut(t, newest(t, dir, "wal/*.wal"), damagetest.Half) }, "", ".wal is truncated", true},
	"the log's last file is cut in the middle of what it holds": {func(t *testing.T, dir string) {
		damagetest.Cut(t, newest(t, dir, "wal/*.wal"), func(int64) int64 { return 100_000 })
	}, ".wal is truncated", ".wal is truncated", true},
	"the log has garbage in it": {func(t *testing.T, dir string) {
		damagetest.Overwrite(t, newest(t, dir, "wal/*.wal"), 50_000, []byte("garbage that is no part of any log"))
	}, "has changed since", "member/wal is damaged", true},
	"the log has zeros in it": {func(t *testing.T, dir string) {
		damagetest.Overwrite(t, newest(t, dir, "wal/*.wal"), 40_960, make([]byte, 8192))
	},
		"has changed since", "member/wal ends with change", true},
	"the log has garbage behind its end": {func(t *testing.T, dir string) {
		log, err := readChanges(filepath.Join(dir, "store/member/wal"), true)
		if err != nil {
			t.Fatal(err)
		}
		damagetest.Overwrite(t, newest(t, dir, "wal/*.wal"), log.used, []byte{16, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3})
	}, "has changed since", "member/wal is damaged", true},
	"the snapshots are gone": {func(t *testing.T, dir string) {
		found, err := filepath.Glob(filepath.Join(dir, "store/member/snap/*.snap"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			damagetest.Remove(t, path)
		}
	}, ".snap is missing", ".snap is missing", true},
	"the newest snapshot is gone":  {func(t *testing.T, dir string) { damagetest.Remove(t, newest(t, dir, "snap/*.snap")) }, ".snap is missing", ".snap is missing", true},
	"the newest snapshot is empty": {func(t *testing.T, dir string) { damagetest.Cut(t, newest(t, dir, "snap/*.snap"), damagetest.Empty) }, ".snap is truncated", ".snap is damaged", true},
}

func TestDamageIsFound(t *testing.T) {
	s := makeStores(t)
	for name, dir := range map[string]string{"stopped": s.stopped, "killed": s.killed} {
		if got := try(t, damagetest.Copy(t, dir)); got != fmt.Sprint("started with ", keys) {
			t.Fatalf("the %s store: %s", name, got)
		}
	}
	for sentence, test := range damages {
		for name, from := range map[string]string{"stopped": s.stopped, "killed": s.killed} {
			t.Run(sentence+", "+name, func(t *testing.T) {
				dir := damagetest.Copy(t, from)
				test.damage(t, dir)
				want := map[string]string{"stopped": test.stopped, "killed": test.killed}[name]
				before := damagetest.Digest(t, dir)
				got := try(t, dir)
				if want == "" {
					if got != fmt.Sprint("started with ", keys) {
						t.Errorf("it says %q, and nothing is lost", got)
					}
					return
				}
				if !strings.HasPrefix(got, "refused: ") || !strings.Contains(got, want) {
					t.Errorf("it says %q, want a refusal with %q", got, want)
				}
				if damagetest.Digest(t, dir) != before {
					t.Error("something was changed")
				}
				var damage *DamageError
				if _, err := Check(filepath.Join(dir, "store"), expected); !errors.As(err, &damage) || damage.DatabaseIsWhole != test.whole {
					t.Errorf("%#v", err)
				}
				if test.whole {
					rebuilt(t, dir)
				}
			})
		}
	}
}

// rebuilt makes a store of the database, which has everything.
func rebuilt(t *testing.T, dir string) {
	t.Helper()
	store, old := filepath.Join(dir, "store"), filepath.Join(dir, "old")
	if err := os.Rename(store, old); err != nil {
		t.Fatal(err)
	}
	if err := Rebuild(old, store, "", slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	if got := try(t, dir); got != fmt.Sprint("started with ", keys) {
		t.Errorf("rebuilt, it says %q", got)
	}
}

// zeroPages clears every fourth page that is in use.
func zeroPages(t *testing.T, path string) {
	t.Helper()
	d, end, err := openDatabase(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.walk(func(string, []byte, []byte) error { return nil }); err != nil {
		t.Fatal(err)
	}
	used, size := slices.Clone(d.seen), int64(d.page)
	end()
	for i, is := range used {
		if is && i%4 == 0 {
			damagetest.Overwrite(t, path, int64(i)*size, make([]byte, size))
		}
	}
}

// Whatever is damaged: it is refused, or everything is there. A store that was stopped in good
// order is refused when a single bit is another one.
func TestRandomDamage(t *testing.T) {
	s := makeStores(t)
	random := rand.New(rand.NewPCG(*seedFlag, 0))
	for i := range *rounds {
		from := []string{s.stopped, s.killed}[i%2]
		dir := damagetest.Copy(t, from)
		what := damagetest.AtRandom(t, random, filepath.Join(dir, "store", "member"), "snap/db", "snap/*.snap", "wal/*.wal")
		before := damagetest.Digest(t, dir)
		got := try(t, dir)
		switch {
		case strings.HasPrefix(got, "refused: ") && damagetest.Digest(t, dir) != before:
			t.Errorf("round %d (-seed %d), %s: it is refused, and something was changed", i, *seedFlag, what)
		case strings.HasPrefix(got, "refused: "):
		case got == fmt.Sprint("started with ", keys):
		default:
			t.Errorf("round %d (-seed %d), %s: it says %q", i, *seedFlag, what, got)
		}
		damagetest.Remove(t, dir)
	}
}

// etcd itself cuts what was torn off its log, so a home of an older Yuba may have a short one.
func TestAShortLogOfAnOlderYuba(t *testing.T) {
	s := makeStores(t)
	dir := damagetest.Copy(t, s.killed)
	store := filepath.Join(dir, "store")
	tail := newest(t, dir, "wal/*.wal")
	log, err := readChanges(filepath.Dir(tail), true)
	if err != nil {
		t.Fatal(err)
	}
	damagetest.Cut(t, tail, func(int64) int64 { return log.used })
	if _, err := Check(store, Expect{Plausible: plausible}); err != nil {
		t.Fatal(err)
	}
	if err := lengthen(store); err != nil {
		t.Fatal(err)
	}
	if got := try(t, dir); got != fmt.Sprint("started with ", keys) {
		t.Errorf("it says %q", got)
	}
}

// An older Yuba knows no seal, and leaves it beside a store that has gone on.
func TestASealThatIsOlderThanTheStore(t *testing.T) {
	s := makeStores(t)
	dir := damagetest.Copy(t, s.stopped)
	store := filepath.Join(dir, "store")
	old, err := os.ReadFile(filepath.Join(store, sealName))
	if err != nil {
		t.Fatal(err)
	}
	f := fixture{dir: dir}
	if err := f.load(); err != nil {
		t.Fatal(err)
	}
	server := f.start(t, store, nil)
	client := connect(t, server, f.client)
	put(t, client, "other", "x")
	client.Close()
	server.Stop()
	if err := os.WriteFile(filepath.Join(store, sealName), old, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := try(t, dir); got != fmt.Sprint("started with ", keys) {
		t.Errorf("it says %q", got)
	}
}
