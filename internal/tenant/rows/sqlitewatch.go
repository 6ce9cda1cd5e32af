// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"context"
	"path/filepath"

	"github.com/fsnotify/fsnotify"
)

// Changes tells of writes to the file. A directory that cannot be watched, or that is replaced, leaves changes to readings.
func (f *sqliteFile) Changes(ctx context.Context) <-chan struct{} {
	var dir string
	for _, allowed := range f.dirs {
		rel, real, err := inside(allowed, f.table.spec.Path)
		if err != nil {
			continue
		}
		if dir == "" {
			dir = filepath.Dir(filepath.Join(real, rel))
		}
		if found, err := plainFile(real, rel); err == nil {
			dir = filepath.Dir(found.path)
			break
		}
	}
	if dir == "" {
		return nil
	}
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil
	}
	if err := watcher.Add(dir); err != nil {
		watcher.Close() //nolint:errcheck // it watches nothing
		return nil
	}
	name := filepath.Base(f.table.spec.Path)
	return f.life.watch(ctx, func(ctx context.Context, changed chan<- struct{}) {
		defer watcher.Close() //nolint:errcheck // nobody listens any more
		for {
			select {
			case <-ctx.Done():
				return
			case event, open := <-watcher.Events:
				if !open {
					return
				}
				if wrote(name, event) {
					signal(changed)
				}
			case _, open := <-watcher.Errors:
				if !open {
					return
				}
				signal(changed) // some events are lost
			}
		}
	})
}

// wrote tells whether an event may be about rows. Readings make files beside the database, too: a log that is empty, and its
// index. They must not cause the next reading.
func wrote(name string, event fsnotify.Event) bool {
	switch filepath.Base(event.Name) {
	case name:
		return event.Op&(fsnotify.Write|fsnotify.Create|fsnotify.Remove|fsnotify.Rename) != 0
	case name + "-wal":
		return event.Has(fsnotify.Write)
	}
	return false
}
