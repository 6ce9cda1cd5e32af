// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/home/datadir"
	"github.com/yuba-dev/yuba/internal/testkit/damagetest"
	"github.com/yuba-dev/yuba/internal/testkit/proctest"
)

// serveOnce runs the controllers on a directory until they are ready, then ends them.
func serveOnce(t *testing.T, opts ControllerOptions) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ready := false
	opts.Ready = func(string) {
		ready = true
		cancel()
	}
	err := RunController(ctx, opts)
	if err == nil && !ready {
		err = errors.New("the controllers ended before they were ready")
	}
	return errors.Join(err, proctest.End(opts.DataDir))
}

func TestControllersRefuseADirectoryThatLostItsBlobs(t *testing.T) {
	installPrograms(t)
	opts := controllerOptions(t)
	used := opts.DataDir
	if err := serveOnce(t, opts); err != nil {
		t.Fatal(err)
	}
	if err := serveOnce(t, opts); err != nil {
		t.Fatalf("a whole directory: %v", err)
	}
	const noKey, noRecipient = "keys/blob.agekey is missing", "blobs/.recipient is missing"
	for sentence, test := range map[string]struct {
		lost []string
		want string
	}{
		"no key":                {[]string{"keys/blob.agekey"}, noKey},
		"no keys at all":        {[]string{"keys"}, noKey},
		"no recipient":          {[]string{"blobs/.recipient"}, noRecipient},
		"no blobs":              {[]string{"blobs"}, noRecipient},
		"neither key nor blobs": {[]string{"keys", "blobs"}, noKey},
		"no key, and no record as by an older Yuba":   {[]string{"keys/blob.agekey", "home.json"}, noKey},
		"no blobs, and no record as by an older Yuba": {[]string{"blobs", "home.json"}, noRecipient},
	} {
		t.Run(sentence, func(t *testing.T) {
			opts := opts
			opts.DataDir = t.TempDir()
			damagetest.CopyTo(t, used, opts.DataDir)
			for _, lost := range test.lost {
				if err := os.RemoveAll(filepath.Join(opts.DataDir, lost)); err != nil {
					t.Fatal(err)
				}
			}
			err := serveOnce(t, opts)
			var refused *datadir.RefusedError
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want a refusal that says %q", err, test.want)
			}
			for _, lost := range test.lost {
				if _, err := os.Lstat(filepath.Join(opts.DataDir, lost)); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("%s was made anew (%v)", lost, err)
				}
			}
		})
	}
}

func TestControllersStartWhereNoBlobsWereLost(t *testing.T) {
	installPrograms(t)
	opts := controllerOptions(t)
	// The first start was cut short after it had made the key.
	dir, err := datadir.Open(opts.DataDir)
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := openBlobs(t.Context(), opts.Common, dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(blobs.Close(), os.RemoveAll(dir.Blobs())); err != nil {
		t.Fatal(err)
	}
	if err := serveOnce(t, opts); err != nil {
		t.Errorf("after a start that was cut short: %v", err)
	}
	// The ways of a refusal that gives the blobs up.
	if err := os.RemoveAll(dir.Blobs()); err != nil {
		t.Fatal(err)
	}
	var refused *datadir.RefusedError
	if err := serveOnce(t, opts); !errors.As(err, &refused) {
		t.Fatalf("got %v, want a refusal", err)
	}
	giveUp(t, refused)
	if err := serveOnce(t, opts); err != nil {
		t.Errorf("after the blobs were given up: %v", err)
	}
}

// leaked are open files of the process below a directory.
func leaked(t *testing.T, dir string) (names []string) {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range open {
		if name, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil && strings.HasPrefix(name, dir) {
			names = append(names, name)
		}
	}
	return names
}

func TestAnEngineThatDoesNotStartLeavesNothingOpen(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for sentence, test := range map[string]struct {
		change func(*ControllerOptions, datadir.Dir) error
		want   string
	}{
		"the address of metrics is taken": {func(o *ControllerOptions, _ datadir.Dir) error {
			o.MetricsAddress = taken.Addr().String()
			return nil
		}, "address already in use"},
		"the certificate cannot be read": {func(_ *ControllerOptions, d datadir.Dir) error {
			return os.MkdirAll(filepath.Join(d.Keys(), "server-ca.crt"), 0o700)
		}, "server-ca"},
		"there is no runner": {func(*ControllerOptions, datadir.Dir) error { return nil }, "/nonexistent"},
	} {
		t.Run(sentence, func(t *testing.T) {
			opts := controllerOptions(t)
			dir, err := datadir.Open(opts.DataDir)
			if err != nil {
				t.Fatal(err)
			}
			if err := test.change(&opts, dir); err != nil {
				t.Fatal(err)
			}
			e, certs, err := opts.startEngine(t.Context(), dir, tool{runner: "/nonexistent"})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
			if e != nil || certs != nil {
				t.Error("there is an engine")
			}
			if names := leaked(t, dir.Blobs()); len(names) > 0 {
				t.Errorf("open: %v", names)
			}
		})
	}
}

// giveUp does what the last way of a refusal says.
func giveUp(t *testing.T, refused *datadir.RefusedError) {
	t.Helper()
	for _, command := range refused.Ways[len(refused.Ways)-1].Commands {
		if out, err := exec.Command("sh", "-c", command).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}
}
