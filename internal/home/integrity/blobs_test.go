// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package integrity

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/home/datadir"
)

// withBlobs is a directory that controllers have used: it has blobs and their key, and no store.
func withBlobs(t *testing.T) datadir.Dir {
	t.Helper()
	dir, err := datadir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{dir.BlobKey(): identity.String() + "\n", filepath.Join(dir.Blobs(), recipientName): identity.Recipient().String() + "\n"} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestADirectoryOfControllersMayGetAControlPlane(t *testing.T) {
	dir := withBlobs(t)
	if err := WriteBlobs(dir, true); err != nil {
		t.Fatal(err)
	}
	if err := CheckBlobs(dir, true); err != nil {
		t.Errorf("for controllers: %v", err)
	}
	if _, err := Check(dir, true); err != nil {
		t.Errorf("for a control plane: %v", err)
	}
}

func TestWhatIsOnRecordOfAStoreStays(t *testing.T) {
	dir := withBlobs(t)
	if err := write(dir, &Record{Store: "abc", Keys: map[string]string{secretsKey: "1", authorityKey: "4"}}); err != nil {
		t.Fatal(err)
	}
	if err := WriteBlobs(dir, true); err != nil {
		t.Fatal(err)
	}
	keys, err := fingerprints(dir)
	if err != nil {
		t.Fatal(err)
	}
	got, err := read(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := &Record{Store: "abc", Keys: map[string]string{secretsKey: "1", authorityKey: "4", blobsKey: keys[blobsKey]}, Blobs: true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestBlobsInABucketNeedTheirKeyOnly(t *testing.T) {
	dir := withBlobs(t)
	if err := os.RemoveAll(dir.Blobs()); err != nil {
		t.Fatal(err)
	}
	if err := WriteBlobs(dir, false); err != nil {
		t.Fatal(err)
	}
	if err := CheckBlobs(dir, false); err != nil {
		t.Error(err)
	}
	if err := os.Remove(dir.BlobKey()); err != nil {
		t.Fatal(err)
	}
	if err := CheckBlobs(dir, false); err == nil {
		t.Error("it starts without the key of the bucket")
	}
}

// put writes files below a directory.
func put(t *testing.T, dir datadir.Dir, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(string(dir), name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// withControlPlane is a home of "yuba up" of an older Yuba, which kept no record.
func withControlPlane(t *testing.T) datadir.Dir {
	t.Helper()
	dir := withBlobs(t)
	put(t, dir, "kubeconfig", "keys/ca.crt", "keys/ca.key", "keys/service-account.key", "keys/encryption.yaml", "etcd/member/wal/0.wal")
	return dir
}

func remove(t *testing.T, dir datadir.Dir, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := os.RemoveAll(filepath.Join(string(dir), name)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestControllersDoNotDisarmTheChecksOfAnOlderHome(t *testing.T) {
	for sentence, test := range map[string]struct{ before, lost, want string }{
		"the store is gone":               {"", "etcd", "etcd/ has no store"},
		"the authority is gone":           {"", "keys/ca.key", "keys/ca.key is missing"},
		"the key of tokens is gone":       {"", "keys/service-account.key", "keys/service-account.key is missing"},
		"the store had no kubeconfig yet": {"kubeconfig", "keys/ca.key", "keys/ca.key is missing"},
		"the store was gone already":      {"etcd", "", "etcd/ has no store"},
		"the damaged record said nothing": {"home.json", "etcd", "etcd/ has no store"},
	} {
		t.Run(sentence, func(t *testing.T) {
			dir := withControlPlane(t)
			if test.before == "home.json" {
				put(t, dir, test.before)
			} else if test.before != "" {
				remove(t, dir, test.before)
			}
			if err := WriteBlobs(dir, true); err != nil {
				t.Fatal(err)
			}
			if test.lost != "" {
				remove(t, dir, test.lost)
			}
			// A record would also have Check expect a full log, which an older Yuba did not see to.
			if r, err := read(dir); r != nil || err != nil {
				t.Errorf("the controllers left the record %+v (%v)", r, err)
			}
			if _, err := Check(dir, true); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want a refusal that says %q", err, test.want)
			}
		})
	}
}

func TestControllersRefuseAnOlderHomeThatLostItsBlobs(t *testing.T) {
	dir := withControlPlane(t)
	if err := CheckBlobs(dir, true); err != nil {
		t.Errorf("a whole home: %v", err)
	}
	remove(t, dir, "blobs")
	refused := refusedBlobs(t, dir, "blobs/.recipient is missing")
	run(t, refused.Ways[1].Commands)
	if err := CheckBlobs(dir, true); err != nil {
		t.Errorf("after the blobs were given up: %v", err)
	}
}

// refusedBlobs is the refusal of controllers, which says so.
func refusedBlobs(t *testing.T, dir datadir.Dir, want string) *datadir.RefusedError {
	t.Helper()
	err := CheckBlobs(dir, true)
	var refused *datadir.RefusedError
	if !errors.As(err, &refused) || !strings.Contains(refused.Problem, want) {
		t.Fatalf("got %v, want a refusal that says %q", err, want)
	}
	return refused
}

func run(t *testing.T, commands []string) {
	t.Helper()
	for _, command := range commands {
		if out, err := exec.Command("sh", "-ec", command).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}
}

func TestGivingUpBlobsKeepsTheRecordOfAControlPlane(t *testing.T) {
	for sentence, change := range map[string]func(*testing.T, datadir.Dir, *Record){
		"it has a store":            func(_ *testing.T, _ datadir.Dir, r *Record) { r.Store = "abc" },
		"its objects were given up": func(t *testing.T, dir datadir.Dir, _ *Record) { put(t, dir, "kubeconfig") },
	} {
		t.Run(sentence, func(t *testing.T) {
			for _, lost := range []string{"blobs", "keys/blob.agekey"} {
				dir := withBlobs(t)
				keys, err := fingerprints(dir)
				if err != nil {
					t.Fatal(err)
				}
				r := &Record{Keys: keys, Blobs: true}
				change(t, dir, r)
				if err := write(dir, r); err != nil {
					t.Fatal(err)
				}
				remove(t, dir, lost)
				refused := refusedBlobs(t, dir, "missing")
				want := []string{"yuba up --data-dir " + dir.Quoted() + " --accept-loss blobs"}
				if diff := cmp.Diff(want, refused.Ways[1].Commands); diff != "" {
					t.Errorf("without %s: %s", lost, diff)
				}
			}
		})
	}
}

func TestBlobsCanBeGivenUpTwice(t *testing.T) {
	dir := withBlobs(t)
	for _, aside := range []string{"before-1", "before-2"} {
		put(t, dir, "blobs/"+aside, "keys/blob.agekey", "home.json")
		if err := write(dir, &Record{Keys: map[string]string{blobsKey: "1"}, Blobs: true}); err != nil {
			t.Fatal(err)
		}
		remove(t, dir, "blobs/.recipient")
		f, err := gatherBlobs(dir, true)
		if err != nil {
			t.Fatal(err)
		}
		p := recipientIsGone(f)
		if p == nil {
			t.Fatal("lost blobs are not refused")
		}
		run(t, p.refusalOfBlobs(dir, f, true, aside).Ways[1].Commands)
		if err := CheckBlobs(dir, true); err != nil {
			t.Errorf("after the blobs were given up: %v", err)
		}
	}
	for _, aside := range []string{"before-1", "before-2"} {
		for _, name := range []string{"blobs/" + aside, "keys/blob.agekey"} {
			if _, err := os.Stat(filepath.Join(string(dir), aside, name)); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestWhatIsGivenUpHasATimeInItsName(t *testing.T) {
	dir := withBlobs(t)
	put(t, dir, "blobs/a", "home.json")
	if err := write(dir, &Record{Blobs: true}); err != nil {
		t.Fatal(err)
	}
	remove(t, dir, "blobs/.recipient")
	giveUp := strings.Join(refusedBlobs(t, dir, "missing").Ways[1].Commands, "\n")
	if !regexp.MustCompile(`mv \S+/blobs \S+/before-accepted-loss-\d{8}T\d{6}Z/\n`).MatchString(giveUp) {
		t.Errorf("got %s", giveUp)
	}
}

func TestBlobsThatAreThereAreNotReplacedByOlderOnes(t *testing.T) {
	for sentence, test := range map[string]struct {
		damage func(*testing.T, datadir.Dir)
		want   string
	}{
		"the recipient only": {func(t *testing.T, dir datadir.Dir) {
			put(t, dir, "blobs/states/one")
			remove(t, dir, "blobs/.recipient")
		}, "cp -a COPY/blobs/.recipient DIR/blobs/"},
		"all blobs":       {func(t *testing.T, dir datadir.Dir) { remove(t, dir, "blobs") }, "cp -a COPY/blobs DIR/"},
		"what blobs/ had": {func(t *testing.T, dir datadir.Dir) { remove(t, dir, "blobs/.recipient") }, "cp -a COPY/blobs DIR/"},
		"the key":         {func(t *testing.T, dir datadir.Dir) { remove(t, dir, "keys/blob.agekey") }, "cp -a COPY/keys/blob.agekey DIR/keys/"},
	} {
		t.Run(sentence, func(t *testing.T) {
			dir := withBlobs(t)
			if err := WriteBlobs(dir, true); err != nil {
				t.Fatal(err)
			}
			test.damage(t, dir)
			want := strings.Replace(test.want, "DIR", dir.Quoted(), 1)
			if diff := cmp.Diff([]string{want}, refusedBlobs(t, dir, "missing").Ways[0].Commands); diff != "" {
				t.Error(diff)
			}
		})
	}
}
