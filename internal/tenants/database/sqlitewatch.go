// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// The pauses before another attempt to watch the directory, which double.
const (
	shortestLook = time.Second
	longestLook  = time.Minute
)

// Changes signals writes to the file. A directory that does not exist yet, or is replaced, is
// watched once it exists.
func (f *sqliteFile) Changes(ctx context.Context) <-chan struct{} {
	return f.life.watch(ctx, func(ctx context.Context, changed chan<- struct{}) {
		for next := shortestLook; ; next = min(2*next, longestLook) {
			if f.follow(ctx, changed) {
				next = shortestLook
			}
			if !pause(ctx, next) {
				return
			}
		}
	})
}

// follow watches the directory of the file while that exists. It reports whether it could.
func (f *sqliteFile) follow(ctx context.Context, changed chan<- struct{}) bool {
	dir, err := f.directory()
	if err != nil {
		return f.deaf(err)
	}
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return f.deaf(err)
	}
	defer watcher.Close() //nolint:errcheck // its events are no longer read
	if err := watcher.Add(dir); err != nil {
		return f.deaf(err)
	}
	f.life.deaf.Store(nil)
	// Earlier writes were not watched.
	signal(changed)
	name := filepath.Base(f.table.spec.Path)
	for {
		select {
		case <-ctx.Done():
			return true
		case event, open := <-watcher.Events:
			switch {
			case !open, event.Name == dir && event.Op&(fsnotify.Remove|fsnotify.Rename) != 0:
				return true
			case wrote(name, event):
				signal(changed)
			}
		case _, open := <-watcher.Errors:
			if !open {
				return true
			}
			signal(changed) // some events are lost
		}
	}
}

// deaf records why the file cannot be watched.
func (f *sqliteFile) deaf(err error) bool {
	why := "the file's directory cannot be watched: " + said(err.Error())
	f.life.deaf.Store(&why)
	return false
}

// directory is the directory of the file, even if that does not exist yet.
func (f *sqliteFile) directory() (string, error) {
	dir := ""
	for _, allowed := range f.dirs {
		rel, real, err := inside(allowed, f.table.spec.Path)
		if err != nil {
			continue
		}
		if found, err := plainFile(real, rel); err == nil {
			return filepath.Dir(found.path), nil
		}
		if dir == "" {
			dir = filepath.Dir(filepath.Join(real, rel))
		}
	}
	if dir == "" {
		return "", fs.ErrPermission
	}
	return dir, nil
}

// wrote reports whether an event may be about rows. Readings also create files: an empty log and
// its index. They must not cause the next reading.
func wrote(name string, event fsnotify.Event) bool {
	switch filepath.Base(event.Name) {
	case name:
		return event.Op&(fsnotify.Write|fsnotify.Create|fsnotify.Remove|fsnotify.Rename) != 0
	case name + "-wal":
		return event.Has(fsnotify.Write)
	}
	return false
}
