// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package notify

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

// restore takes up what waited when the server ended.
func (d *Dispatcher) restore(ctx context.Context) {
	entries, err := os.ReadDir(d.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		d.Log.Warn("reading the notifications that wait", "error", err)
	}
	taken := 0
	for _, entry := range entries {
		path := filepath.Join(d.Dir, entry.Name())
		one, err := readDelivery(path)
		if err != nil || taken == maxKept {
			d.Log.Warn("a notification that waited is dropped", "file", entry.Name(), "error", err)
			if err := os.Remove(path); err != nil {
				d.Log.Warn("deleting a notification", "error", err)
			}
			continue
		}
		taken++
		d.queues.get(d, one.Provider).add(ctx, one)
	}
}

func readDelivery(path string) (*delivery, error) {
	if !strings.HasSuffix(path, deliveryFile) {
		return nil, errors.New("it was not written to its end")
	}
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, errors.New("it is no file that Yuba writes")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	one := &delivery{}
	if err := json.Unmarshal(data, one); err != nil {
		return nil, err
	}
	one.file = path
	return one, nil
}
