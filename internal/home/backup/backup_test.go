// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/home/datadir"
	"github.com/yuba-dev/yuba/internal/home/etcd"
	"github.com/yuba-dev/yuba/internal/home/pki"

	"github.com/google/go-cmp/cmp"
)

var silent = slog.New(slog.DiscardHandler)

// storeBytes is a snapshot of a real, empty store.
var storeBytes = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "yuba-backup-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	authority, err := pki.OpenAuthority(filepath.Join(dir, "ca"), "etcd", time.Now())
	if err != nil {
		return nil, err
	}
	server, err := etcd.Start(context.Background(), etcd.Options{Dir: filepath.Join(dir, "etcd"), Log: silent,
		TLS: &tls.Config{ClientCAs: authority.Pool(), ClientAuth: tls.RequireAndVerifyClientCert}})
	if err != nil {
		return nil, err
	}
	defer server.Stop()
	snapshot := server.Snapshot()
	defer snapshot.Close()
	var buffer bytes.Buffer
	_, err = snapshot.WriteTo(&buffer)
	return buffer.Bytes(), err
})

// memorySnapshot is a snapshot in memory.
type memorySnapshot []byte

func (m memorySnapshot) Size() int64 { return int64(len(m)) }

func (m memorySnapshot) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(m)
	return int64(n), err
}

// newDir makes a data directory with these files.
func newDir(t *testing.T, files map[string]string) datadir.Dir {
	t.Helper()
	dir, err := datadir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		path := filepath.Join(string(dir), name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// archiveOf backs a directory with these files up.
func archiveOf(t *testing.T, files map[string]string) []byte {
	t.Helper()
	store, err := storeBytes()
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	origin := Origin{Version: "v1", Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	if err := Write(t.Context(), &archive, newDir(t, files), memorySnapshot(store), origin); err != nil {
		t.Fatal(err)
	}
	return archive.Bytes()
}

// content reads the keys and blobs below root.
func content(t *testing.T, root string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, name := range []string{keysName, blobsName} {
		err := filepath.WalkDir(filepath.Join(root, name), func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			relative, _ := filepath.Rel(root, path)
			found[relative] = string(data)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

var (
	before = map[string]string{"keys/ca.key": "old key", "keys/etcd/ca.key": "old etcd key", "blobs/a/b": "old blob"}
	after  = map[string]string{"keys/ca.key": "new key", "blobs/a/b": "newer blob", "blobs/c": "another"}
)

func TestArchiveIsPutInPlaceAndTheOldDataKept(t *testing.T) {
	archive := archiveOf(t, before)
	dir := newDir(t, after)
	origin, err := Stage(dir, bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	if want := (Origin{Version: "v1", Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}); origin != want {
		t.Errorf("origin %+v, want %+v", origin, want)
	}
	if diff := cmp.Diff(after, content(t, string(dir))); diff != "" {
		t.Errorf("staging changed what is in use (-want +got):\n%s", diff)
	}
	if _, err := Stage(dir, bytes.NewReader(archive)); !errors.Is(err, ErrPending) {
		t.Errorf("second archive: %v, want ErrPending", err)
	}
	checkApplied(t, dir)
}

// checkApplied applies what is pending and checks that new and old data are where they belong.
func checkApplied(t *testing.T, dir datadir.Dir) {
	t.Helper()
	if err := ApplyPending(dir, silent); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, content(t, string(dir))); diff != "" {
		t.Errorf("restored (-want +got):\n%s", diff)
	}
	kept, err := filepath.Glob(filepath.Join(string(dir), "before-restore-*"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("old data is kept in %v, error %v", kept, err)
	}
	if diff := cmp.Diff(after, content(t, kept[0])); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(filepath.Join(dir.Etcd(), "member", "snap", "db")); err != nil {
		t.Errorf("the store: %v", err)
	}
	if Pending(dir) {
		t.Error("the archive is still pending")
	}
}

// TestInterruptedRestorationIsFinished does the first steps of ApplyPending, as a kill would leave
// them, and then all of it.
func TestInterruptedRestorationIsFinished(t *testing.T) {
	archive := archiveOf(t, before)
	var old string
	moveAway := func(dir datadir.Dir, name string) error {
		return os.Rename(filepath.Join(string(dir), name), filepath.Join(string(dir), old, name))
	}
	steps := []struct {
		name string
		do   func(datadir.Dir) error
	}{
		{"half a store", func(dir datadir.Dir) error {
			return os.MkdirAll(filepath.Join(pending(dir), etcdName, "member"), 0o700)
		}},
		{"the store", func(dir datadir.Dir) error { return makeEtcd(dir, silent) }},
		{"the journal", func(dir datadir.Dir) (err error) { old, err = journal(dir); return err }},
		{"the store in place", func(dir datadir.Dir) error { return swap(dir, old, etcdName) }},
		{"the old keys away", func(dir datadir.Dir) error { return moveAway(dir, keysName) }},
		{"the keys in place", func(dir datadir.Dir) error { return swap(dir, old, keysName) }},
		{"the old blobs away", func(dir datadir.Dir) error { return moveAway(dir, blobsName) }},
		{"the blobs in place", func(dir datadir.Dir) error { return swap(dir, old, blobsName) }},
	}
	for i := range steps {
		t.Run("killed after "+steps[i].name, func(t *testing.T) {
			dir := newDir(t, after)
			if _, err := Stage(dir, bytes.NewReader(archive)); err != nil {
				t.Fatal(err)
			}
			for _, step := range steps[:i+1] {
				if err := step.do(dir); err != nil {
					t.Fatalf("%s: %v", step.name, err)
				}
			}
			checkApplied(t, dir)
		})
	}
}

func TestKilledStagingIsForgotten(t *testing.T) {
	dir := newDir(t, after)
	left := filepath.Join(string(dir), stagingPrefix+"123")
	if err := os.MkdirAll(filepath.Join(left, "blobs"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := ApplyPending(dir, silent); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", left, err)
	}
	if diff := cmp.Diff(after, content(t, string(dir))); diff != "" {
		t.Errorf("without an archive (-want +got):\n%s", diff)
	}
}

// rewritten copies an archive's members through change, which may alter or drop them.
func rewritten(t *testing.T, archive []byte, change func(*tar.Header, []byte) (*tar.Header, []byte)) []byte {
	t.Helper()
	var out bytes.Buffer
	to := tar.NewWriter(&out)
	for from := tar.NewReader(bytes.NewReader(archive)); ; {
		head, err := from.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(from)
		if err != nil {
			t.Fatal(err)
		}
		if head, data = change(head, data); head == nil {
			continue
		}
		head.Size = int64(len(data))
		if err := to.WriteHeader(head); err != nil {
			t.Fatal(err)
		}
		if _, err := to.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestStageRefuses(t *testing.T) {
	archive := archiveOf(t, before)
	on := func(name string, change func(*tar.Header, []byte) (*tar.Header, []byte)) []byte {
		return rewritten(t, archive, func(head *tar.Header, data []byte) (*tar.Header, []byte) {
			if head.Name != name {
				return head, data
			}
			return change(head, data)
		})
	}
	renamed := func(name string) func(*tar.Header, []byte) (*tar.Header, []byte) {
		return func(head *tar.Header, data []byte) (*tar.Header, []byte) { head.Name = name; return head, data }
	}
	drop := func(*tar.Header, []byte) (*tar.Header, []byte) { return nil, nil }
	for sentence, test := range map[string]struct {
		archive []byte
		want    string
	}{
		"an empty file":         {nil, "not a backup of Yuba"},
		"something else":        {[]byte("hello"), "not a backup of Yuba"},
		"another tar":           {on(headerName, drop), "not a backup of Yuba"},
		"one cut in the middle": {archive[:len(archive)/2], "truncated in"},
		"one without manifest":  {on(manifestName, drop), "truncated"},
		"one without store":     {on(snapshotName, drop), "does not match the manifest"},
		"a changed key": {on("keys/ca.key", func(head *tar.Header, _ []byte) (*tar.Header, []byte) {
			return head, []byte("bad key")
		}), "keys/ca.key does not match the manifest"},
		"a missing blob":        {on("blobs/a/b", drop), "blobs/a/b does not match the manifest"},
		"a renamed blob":        {on("blobs/a/b", renamed("blobs/a/c")), "does not match the manifest"},
		"a path that leads out": {on("blobs/a/b", renamed("blobs/../../x")), "not part of a backup"},
		"an absolute path":      {on("blobs/a/b", renamed("/etc/passwd")), "not part of a backup"},
		"a file beside keys":    {on("blobs/a/b", renamed("kubeconfig")), "not part of a backup"},
		"a link": {on("blobs/a/b", func(head *tar.Header, _ []byte) (*tar.Header, []byte) {
			head.Typeflag, head.Linkname = tar.TypeSymlink, "/etc/passwd"
			return head, nil
		}), "not part of a backup"},
		"a newer format": {on(headerName, func(head *tar.Header, _ []byte) (*tar.Header, []byte) {
			return head, []byte(`{"format":7}`)
		}), "A newer Yuba wrote it"},
		"a newer data directory": {on(headerName, func(head *tar.Header, _ []byte) (*tar.Header, []byte) {
			return head, []byte(`{"format":1,"dataFormat":9}`)
		}), "A newer Yuba wrote it"},
	} {
		t.Run(sentence, func(t *testing.T) {
			dir := newDir(t, after)
			_, err := Stage(dir, bytes.NewReader(test.archive))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one that says %q", err, test.want)
			}
			if Pending(dir) {
				t.Error("the archive is pending")
			}
			if diff := cmp.Diff(after, content(t, string(dir))); diff != "" {
				t.Errorf("something changed (-want +got):\n%s", diff)
			}
			if left, _ := filepath.Glob(filepath.Join(string(dir), stagingPrefix+"*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestWriteStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := Write(ctx, io.Discard, newDir(t, before), memorySnapshot("x"), Origin{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want canceled", err)
	}
}

func FuzzStage(f *testing.F) {
	var archive bytes.Buffer
	dir, err := datadir.Open(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	if err := Write(f.Context(), &archive, dir, memorySnapshot("store"), Origin{Version: "v1"}); err != nil {
		f.Fatal(err)
	}
	f.Add(archive.Bytes())
	f.Add([]byte("yuba-backup.json"))
	f.Fuzz(func(t *testing.T, data []byte) {
		root := t.TempDir()
		dir, err := datadir.Open(filepath.Join(root, "data"))
		if err != nil {
			t.Fatal(err)
		}
		// Whatever it says, nothing appears outside of the data directory.
		_, _ = Stage(dir, bytes.NewReader(data))
		if entries, err := os.ReadDir(root); err != nil || len(entries) != 1 {
			t.Errorf("%d entries beside the data directory, error %v", len(entries)-1, err)
		}
	})
}
