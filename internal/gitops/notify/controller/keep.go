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
	// deliveryFile is the suffix of complete files; others remain after a crash.
	deliveryFile = ".json"
	// maxKept limits the deliveries that are resumed after a start, maxFile the bytes of each.
	maxKept = 5000
	maxFile = 1 << 20
)

// store writes a delivery to disk. A failure is not fatal.
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
		if d.told.May("store", time.Now()) {
			d.Log.Warn("a waiting notification cannot be stored; a restart of the server would lose it", "error", err)
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
	if err := os.Remove(one.file); err != nil && !errors.Is(err, fs.ErrNotExist) && d.told.May("forget", time.Now()) {
		d.Log.Warn("a finished notification cannot be deleted; it will be sent again after a restart", "error", err)
	}
	one.file = ""
}

// restore resumes the deliveries of the previous process, and returns unreadable files.
func (d *Dispatcher) restore(ctx context.Context, dir fs.FS) (unread []string) {
	entries, err := fs.ReadDir(dir, ".")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.Log.Warn("not all waiting notifications could be listed; the others are sent after the next start", "error", err)
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

// takeUp reads and sends deliveries. It deletes invalid files, and returns unreadable ones: the
// disk may be unavailable, or too many files open.
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
			if d.told.May("read", time.Now()) {
				d.Log.Warn("a waiting notification cannot be read; retrying", "file", name, "error", err)
			}
		default:
			one.file = filepath.Join(d.Dir, name)
			d.queues.get(d, one.Provider).add(ctx, one)
		}
	}
	return unread
}

// drop deletes an invalid file.
func (d *Dispatcher) drop(name string, why error) {
	d.Log.Warn("a waiting notification was dropped", "file", name, "error", why)
	if err := os.Remove(filepath.Join(d.Dir, name)); err != nil {
		d.Log.Warn("deleting a notification failed", "error", err)
	}
}

// uselessFileError is an invalid file.
type uselessFileError struct{ why string }

func (e *uselessFileError) Error() string { return e.why }

func readDelivery(dir fs.FS, name string) (*delivery, error) {
	if !strings.HasSuffix(name, deliveryFile) {
		return nil, &uselessFileError{"it is incomplete"}
	}
	info, err := fs.Lstat(dir, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, &uselessFileError{"it is not a file of Yuba"}
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
