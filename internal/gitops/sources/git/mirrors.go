// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"sync"
	"time"
)

// Mirrors manages mirrors in a private directory.
type Mirrors struct {
	dir     string
	options Options
	salt    []byte
	slots   chan struct{}
	idle    time.Duration

	mu      sync.Mutex
	mirrors map[string]*mirror
}

// Open opens the mirrors in dir, and creates dir if it is missing.
func Open(dir string, options Options) (*Mirrors, error) {
	options = options.withDefaults()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open the mirrors of git repositories: %w", err)
	}
	salt, err := saltIn(dir)
	if err != nil {
		return nil, fmt.Errorf("open the mirrors of git repositories: %w", err)
	}
	return &Mirrors{dir: dir, options: options, salt: salt, slots: make(chan struct{}, options.Parallel), idle: idleLimit, mirrors: map[string]*mirror{}}, nil
}

// saltIn reads or creates the salt that keeps the names of mirrors from revealing credentials.
func saltIn(dir string) ([]byte, error) {
	name := filepath.Join(dir, "salt")
	salt, err := os.ReadFile(name)
	if err == nil && len(salt) == 32 {
		return salt, nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	salt = make([]byte, 32)
	rand.Read(salt)
	return salt, os.WriteFile(name, salt, 0o600)
}

// Key identifies an upstream: equal keys share looks, fetches and a mirror. It does not reveal the
// credentials.
func (m *Mirrors) Key(up Upstream) string { return key(up, m.salt) }

// mirror returns the mirror of an upstream.
func (m *Mirrors) mirror(up Upstream) (*mirror, error) {
	name := m.Key(up)
	m.mu.Lock()
	defer m.mu.Unlock()
	found := m.mirrors[name]
	if found == nil {
		found = &mirror{all: m, key: name, dir: filepath.Join(m.dir, name), up: up, history: make(chan struct{}, 1)}
		var err error
		if found.remote, err = m.remote(up); err != nil {
			return nil, err
		}
		m.mirrors[name] = found
	}
	found.touch()
	return found, nil
}

func (m *Mirrors) remote(up Upstream) (remote, error) {
	e, err := parse(up)
	if err != nil {
		return nil, err
	}
	switch e.url.Scheme {
	case "file":
		return newLocal(e, m.options.FileDirs)
	case "ssh":
		return newSSH(e)
	}
	return newHTTP(e)
}

// slot waits for permission to unpack or check out, which needs memory.
func (m *Mirrors) slot(ctx context.Context) (func(), error) {
	select {
	case m.slots <- struct{}{}:
		return func() { <-m.slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// touch records the use of a mirror, at most once a minute also in its directory.
func (m *mirror) touch() {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if now.Sub(m.used) > time.Minute {
		_ = os.Chtimes(m.dir, now, now) // it may not exist yet; a failure only removes it a little early
	}
	m.used = now
}

// Collect removes mirrors that were not used for longer than idle, then least recently used ones
// until at most maxBytes are on disk; 0 means no limit. It returns the bytes left. Mirrors in use
// stay, and removed ones are fetched again when needed.
func (m *Mirrors) Collect(ctx context.Context, idle time.Duration, maxBytes int64) (total int64, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("collect mirrors of git repositories: %w", err)
		}
	}()
	entries, err := os.ReadDir(m.dir)
	if err != nil {
		return 0, err
	}
	type kept struct {
		name  string
		used  time.Time
		bytes int64
	}
	var all []kept
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		one := kept{name: entry.Name(), used: m.lastUsed(entry)}
		if one.bytes, err = size(ctx, filepath.Join(m.dir, one.name)); err != nil {
			return total, err
		}
		total += one.bytes
		all = append(all, one)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].used.Before(all[j].used) })
	for _, one := range all {
		if time.Since(one.used) <= idle && (maxBytes <= 0 || total <= maxBytes) {
			continue
		}
		removed, err := m.remove(one.name)
		if err != nil {
			return total, err
		}
		if removed {
			total -= one.bytes
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, one := range m.mirrors {
		one.mu.Lock()
		if time.Since(one.used) > idle && one.fetching == nil && one.looking == nil {
			delete(m.mirrors, name)
		}
		one.mu.Unlock()
	}
	return total, nil
}

func (m *Mirrors) lastUsed(entry fs.DirEntry) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	if one := m.mirrors[entry.Name()]; one != nil {
		one.mu.Lock()
		defer one.mu.Unlock()
		return one.used
	}
	info, err := entry.Info()
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// remove removes a mirror's files unless they are in use.
func (m *Mirrors) remove(name string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if one := m.mirrors[name]; one != nil {
		one.mu.Lock()
		defer one.mu.Unlock()
		if one.fetching != nil || !one.files.TryLock() {
			return false, nil
		}
		defer one.files.Unlock()
		select {
		case one.history <- struct{}{}:
			defer func() { <-one.history }()
		default:
			return false, nil
		}
	}
	return true, os.RemoveAll(filepath.Join(m.dir, name))
}

func size(ctx context.Context, dir string) (int64, error) {
	var total int64
	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil || !entry.Type().IsRegular() {
			return ignoreMissing(err)
		}
		info, err := entry.Info()
		if err == nil {
			total += info.Size()
		}
		return ignoreMissing(err)
	})
	return total, err
}

// ignoreMissing ignores files that were removed meanwhile.
func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
