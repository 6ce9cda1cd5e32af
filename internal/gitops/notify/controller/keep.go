// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	// deliveryFile is how a waiting delivery's file ends; others are left from a moment when the server was killed.
	deliveryFile = ".json"
	// maxKept bounds how many deliveries are taken up after a start, and maxFile the bytes of each.
	maxKept = 5000
	maxFile = 1 << 20
)

// store writes a delivery to disk, whose loss would otherwise be that of a message. A disk that does not take it costs no
// more than that.
func (d *Dispatcher) store(one *delivery) {
	if one.file != "" {
		return
	}
	data, err := json.Marshal(one)
	if err == nil {
		err = os.MkdirAll(d.Dir, 0o700)
	}
	// Files are read in the order of their names.
	path := filepath.Join(d.Dir, fmt.Sprintf("%020d-%s%s", one.At.UnixNano(), one.Message.ID, deliveryFile))
	if err == nil {
		err = os.WriteFile(path+".new", data, 0o600)
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		if d.told.may("store", time.Now()) {
			d.Log.Warn("a notification that waits is not on disk; it would be lost with the server", "error", err)
		}
		return
	}
	one.file = path
}

// forget deletes a delivery's file.
func (d *Dispatcher) forget(one *delivery) {
	if one.file == "" {
		return
	}
	if err := os.Remove(one.file); err != nil && !errors.Is(err, fs.ErrNotExist) && d.told.may("forget", time.Now()) {
		d.Log.Warn("a notification that is over stays on disk; it will be sent again after a start", "error", err)
	}
	one.file = ""
}

// restore resumes the deliveries that waited when the server ended, and returns the files that it could not read.
func (d *Dispatcher) restore(ctx context.Context, dir fs.FS) (unread []string) {
	entries, err := fs.ReadDir(dir, ".")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.Log.Warn("read the notifications that wait; the others are read after the next start", "error", err)
	}
	names := make([]string, len(entries))
	for i, entry := range entries {
		names[i] = entry.Name()
	}
	if len(names) > maxKept {
		for _, name := range names[maxKept:] {
			d.drop(name, fmt.Errorf("more than %d wait", maxKept))
		}
		names = names[:maxKept]
	}
	return d.takeUp(ctx, dir, names)
}

// takeUp reads deliveries and sends them. It deletes files that hold none. It keeps a file that it cannot read, and returns
// its name: the disk may be in trouble, or too many files open.
func (d *Dispatcher) takeUp(ctx context.Context, dir fs.FS, names []string) (unread []string) {
	for _, name := range names {
		one, err := readDelivery(dir, name)
		var useless *uselessFileError
		switch {
		case errors.As(err, &useless):
			d.drop(name, err)
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			unread = append(unread, name)
			if d.told.may("read", time.Now()) {
				d.Log.Warn("a notification that waited cannot be read; this is tried again", "file", name, "error", err)
			}
		default:
			one.file = filepath.Join(d.Dir, name)
			d.queues.get(d, one.Provider).add(ctx, one)
		}
	}
	return unread
}

// drop deletes a file that is of no use.
func (d *Dispatcher) drop(name string, why error) {
	d.Log.Warn("a notification that waited is dropped", "file", name, "error", why)
	if err := os.Remove(filepath.Join(d.Dir, name)); err != nil {
		d.Log.Warn("deleting a notification", "error", err)
	}
}

// uselessFileError says that a file holds no delivery, now or later.
type uselessFileError struct{ why string }

func (e *uselessFileError) Error() string { return e.why }

func readDelivery(dir fs.FS, name string) (*delivery, error) {
	if !strings.HasSuffix(name, deliveryFile) {
		return nil, &uselessFileError{"it was not written to its end"}
	}
	info, err := fs.Lstat(dir, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, &uselessFileError{"Yuba writes no such file"}
	}
	data, err := fs.ReadFile(dir, name)
	if err != nil {
		return nil, err
	}
	one := &delivery{}
	if err := json.Unmarshal(data, one); err != nil {
		return nil, &uselessFileError{err.Error()}
	}
	return one, nil
}
