// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package modulestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// flight is a piece of work that several wait for.
type flight struct {
	waiting int
	cancel  context.CancelFunc
	done    chan struct{}
	err     error
}

// once does a piece of work for all who ask for it at a time. It goes on for as long as anybody waits, and its error is
// everybody's.
func (s *Store) once(ctx context.Context, key string, do func(context.Context) error) (err error) {
	s.mu.Lock()
	f := s.flights[key]
	if f == nil {
		working, cancel := context.WithCancel(context.WithoutCancel(ctx))
		f = &flight{cancel: cancel, done: make(chan struct{})}
		s.flights[key] = f
		go s.fly(working, key, f, do)
	}
	f.waiting++
	s.mu.Unlock()
	select {
	case <-f.done:
		err = f.err
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.waiting--; f.waiting == 0 {
		f.cancel()
		if s.flights[key] == f {
			delete(s.flights, key) // who comes now begins anew
		}
	}
	return err
}

func (s *Store) fly(ctx context.Context, key string, f *flight, do func(context.Context) error) {
	defer func() {
		if problem := recover(); problem != nil { // it is nobody's own: it would end the whole process
			f.err = fmt.Errorf("fetch the module: %v. This is a bug in Yuba", problem)
		}
		s.mu.Lock()
		if s.flights[key] == f {
			delete(s.flights, key)
		}
		if f.err != nil && ctx.Err() == nil {
			if len(s.failed) >= maxFailures {
				clear(s.failed)
			}
			s.failed[key] = s.Now()
		}
		s.mu.Unlock()
		close(f.done)
	}()
	f.err = do(ctx)
}

// failedLately tells whether a fetch has failed so short a time ago that another one is not worth the wait.
func (s *Store) failedLately(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, there := s.failed[key]
	if there && s.Now().Sub(at) > failedFor {
		delete(s.failed, key)
		there = false
	}
	return there
}

// staged is a directory that somebody works in, locked as long as they do.
type staged struct {
	dir  string
	held *os.File
}

func (s *Store) newStaged() (*staged, error) {
	dir, err := os.MkdirTemp(filepath.Join(s.dir, stagingName), "fetch-")
	if err != nil {
		return nil, err
	}
	made := &staged{dir: dir}
	if made.held, err = os.Open(dir); err == nil {
		err = unix.Flock(int(made.held.Fd()), unix.LOCK_EX) //nolint:gosec // descriptors are small
	}
	if err != nil {
		made.remove()
		return nil, err
	}
	return made, nil
}

func (s *staged) remove() {
	_ = os.RemoveAll(s.dir) // what is left the next collection removes
	if s.held != nil {
		s.held.Close() //nolint:errcheck // it was only read
	}
}

// Clean removes what those left behind who were at work when their processes ended.
func (s *Store) Clean() error {
	parent := filepath.Join(s.dir, stagingName)
	entries, err := os.ReadDir(parent)
	problems := []error{err}
	for _, entry := range entries {
		problems = append(problems, removeAbandoned(filepath.Join(parent, entry.Name())))
	}
	return errors.Join(problems...)
}

func removeAbandoned(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return nil //nolint:nilerr // whoever made it has removed it
	}
	defer dir.Close()                                                //nolint:errcheck // it was only read
	if unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil { //nolint:gosec // descriptors are small
		return nil // somebody is at work there
	}
	return os.RemoveAll(path)
}

// growthInterval is how often it is looked how large a download has become.
const growthInterval = 500 * time.Millisecond

// within does work that fills a directory, and ends it when that gets larger than any module has to be.
func within(ctx context.Context, dir string, work func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		ticker := time.NewTicker(growthInterval)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if bytes, entries := measure(dir); bytes > 2*maxBytes || entries > 2*maxEntries {
				cancel(fmt.Errorf("the download was ended: it has more than %d MiB or %d files", 2*maxBytes>>20, 2*maxEntries))
			}
		}
	})
	err := work(ctx)
	cancel(nil)
	watch.Wait()
	return err
}

func measure(dir string) (bytes int64, entries int) {
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error { // what cannot be read now can the next time
		if err != nil {
			return nil //nolint:nilerr // it is gone, or not yet there
		}
		if entries++; entries > 2*maxEntries {
			return fs.SkipAll
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			bytes += info.Size()
		}
		return nil
	})
	return bytes, entries
}
