// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// device is a disk for one test: a file behind a loop device, whose file system is mounted at the
// server's data directory. The test can cut its power.
type device struct {
	image, dir, kind string
}

// needsDevice is the message if no device can be created.
const needsDevice = "this test needs the right to make loop devices and to mount, as root in CI has it: %v"

// newDevice creates a disk of this size and mounts it.
func newDevice(t *testing.T, image, dir string, size int64) *device {
	t.Helper()
	d := &device{image: image, dir: dir, kind: *fsFlag}
	file, err := os.Create(image)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(file.Truncate(size), file.Close()); err != nil {
		t.Fatal(err)
	}
	program := "mkfs." + d.kind
	if _, err := exec.LookPath(program); err != nil {
		t.Fatalf("this test needs the program %s (Debian: e2fsprogs, xfsprogs): %v", program, err)
	}
	if out, err := exec.CommandContext(t.Context(), program, "-q", image).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", program, err, out)
	}
	d.mount(t)
	t.Cleanup(func() {
		if err := unix.Unmount(d.dir, unix.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", d.dir, err)
		}
	})
	return d
}

// mount mounts the file system, which recovers as after a power cut.
func (d *device) mount(t *testing.T) {
	t.Helper()
	loop, err := attach(d.image)
	if err != nil {
		t.Fatalf(needsDevice, err)
	}
	defer loop.Close() //nolint:errcheck // the mount holds the device, which goes with it
	options := ""
	if d.kind == "ext4" {
		options = "commit=300" // unsynced data stays in memory, where a power cut loses it
	}
	if err := unix.Mount(loop.Name(), d.dir, d.kind, 0, options); err != nil {
		t.Fatalf(needsDevice, fmt.Errorf("mount %s at %s: %w", loop.Name(), d.dir, err))
	}
	if err := os.Chmod(d.dir, 0o700); err != nil { //nolint:gosec // a directory of the server's own
		t.Fatal(err)
	}
}

// attach puts a file behind a free loop device. The device is released with its last user.
func attach(image string) (*os.File, error) {
	backing, err := os.OpenFile(image, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer backing.Close() //nolint:errcheck // the device holds it
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer control.Close() //nolint:errcheck // nothing is written
	for range 20 {        // others take devices, too
		number, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return nil, fmt.Errorf("find a free loop device: %w", err)
		}
		loop, err := os.OpenFile(fmt.Sprintf("/dev/loop%d", number), os.O_RDWR, 0)
		if err != nil {
			return nil, err
		}
		config := unix.LoopConfig{Fd: uint32(backing.Fd())} //nolint:gosec // a descriptor
		config.Info.Flags = unix.LO_FLAGS_AUTOCLEAR
		err = unix.IoctlLoopConfigure(int(loop.Fd()), &config)
		if err == nil {
			return loop, nil
		}
		loop.Close() //nolint:errcheck // it is not ours
		if !errors.Is(err, unix.EBUSY) {
			return nil, fmt.Errorf("set up %s: %w", loop.Name(), err)
		}
	}
	return nil, errors.New("no loop device is free")
}

// cutPower makes the file system forget everything that was not written to the disk, and mounts it
// again. Nobody may use it meanwhile.
func (d *device) cutPower(t *testing.T) {
	t.Helper()
	root, err := os.Open(d.dir)
	if err != nil {
		t.Fatal(err)
	}
	const (
		goingDown  = 0x8004587d // FS_IOC_GOINGDOWN, of xfs, ext4 and f2fs
		noLogFlush = 2
	)
	how := uint32(noLogFlush)
	_, _, failed := unix.Syscall(unix.SYS_IOCTL, root.Fd(), goingDown, uintptr(unsafe.Pointer(&how)))
	root.Close() //nolint:errcheck // nothing is written
	if failed != 0 {
		t.Fatalf("shut the file system at %s down (%s of Linux 4.11 and newer can do that): %v", d.dir, d.kind, failed)
	}
	// A process that used it a moment ago may still be exiting.
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		err := unix.Unmount(d.dir, 0)
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("unmount %s: %v", d.dir, err)
		}
	}
	d.mount(t)
}

// onDevice gives the data directory its own disk.
func (y *yuba) onDevice(size int64) *device {
	y.t.Helper()
	return newDevice(y.t, filepath.Join(y.base, "disk"), y.dir, size)
}

// A device forgets unsynced data and keeps synced data: otherwise the power cuts of these tests
// would prove nothing.
func TestDeviceForgetsWhatWasNotSynced(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "mounted")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	d := newDevice(t, filepath.Join(base, "disk"), dir, 32<<20)
	for name, sync := range map[string]bool{"synced": true, "not-synced": false} {
		file, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.WriteString(name); err != nil {
			t.Fatal(err)
		}
		if sync {
			parent, err := os.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(file.Sync(), parent.Sync(), parent.Close()); err != nil {
				t.Fatal(err)
			}
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		if sync {
			d.cutPower(t)
		}
	}
	d.cutPower(t)
	if text, err := os.ReadFile(filepath.Join(dir, "synced")); err != nil || string(text) != "synced" {
		t.Errorf("what was synced: %q, %v", text, err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "not-synced")); err == nil && string(text) == "not-synced" {
		t.Error("what was not synced has survived")
	}
}
