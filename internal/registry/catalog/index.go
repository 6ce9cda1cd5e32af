// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/Masterminds/semver/v3"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/registry/layout"
)

// entry is one module in the index. It never changes; changes replace it.
type entry struct {
	// records are sorted, newest version first.
	records []record
}

// record is one release in the index.
type record struct {
	version string
	size    int64
	written time.Time
	// side is the stamp of the sidecar, zero if there is none; notices is that of the notice.
	side, noted stamp
	// facts are those of the sidecar; nil while it is unread. notice is always read.
	facts  *facts
	notice *Notice
	// changed is the number of this process's last change to the release.
	changed uint64
}

// stamp recognises a version of an object.
type stamp struct {
	size int64
	at   int64 // in nanoseconds
}

func stampOf(info blob.Info) stamp { return stamp{info.Size, info.Modified.UnixNano()} }

// facts are what the index keeps of a sidecar.
type facts struct {
	digest, by, problem string
	published           time.Time
	from                *Origin
	// size is the archive's when the sidecar was written.
	size int64
}

func (e *entry) get(version string) *record {
	if e == nil {
		return nil
	}
	if i := slices.IndexFunc(e.records, func(r record) bool { return r.version == version }); i >= 0 {
		return &e.records[i]
	}
	return nil
}

func (e *entry) unread() bool {
	return slices.ContainsFunc(e.records, func(r record) bool { return r.unread() })
}

// unread reports whether a sidecar exists and was not read.
func (r *record) unread() bool { return r.facts == nil && r.side != stamp{} }

// current reports whether the facts are about the archive as it is. An archive that was written after
// its sidecar may be another one, of the same size. Both times are the bucket's.
func (r *record) current() bool {
	if r.facts == nil || r.facts.size != r.size {
		return false
	}
	return r.side == learned || r.side == stamp{} || r.side.at >= r.written.UnixNano()
}

func (r *record) release(m layout.Module) Release {
	release := Release{ModuleVersion: layout.ModuleVersion{Module: m, Version: r.version}, Size: r.size, Published: r.written, Notice: r.notice}
	// Facts about an archive of another size are about one that another program replaced.
	if f := r.facts; f != nil && f.size == r.size {
		release.By, release.From = f.by, f.from
		if !f.published.IsZero() {
			release.Published = f.published
		}
	}
	if r.current() {
		release.Digest, release.Problem = r.facts.digest, r.facts.problem
	}
	return release
}

func (c *Catalog) entry(m layout.Module) *entry {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.modules[m]
}

// newest compares versions for sorting, newest first. Their form was checked before.
func newest(a, b record) int {
	return semver.MustParse(b.version).Compare(semver.MustParse(a.version))
}

// found collects a list of the bucket.
type found struct {
	modules map[layout.Module]map[string]*record
	notes   []note
}

// note is a notice in a list.
type note struct {
	layout.ModuleVersion
	stamp stamp
}

// ownPrefix begins the keys of what only this program keeps of modules.
const ownPrefix = layout.OwnPrefix + layout.ModulesPrefix

// list lists archives, sidecars and notices below a module's directory; "" lists all modules.
func (c *Catalog) list(ctx context.Context, dir string) (*found, error) {
	f := &found{modules: map[layout.Module]map[string]*record{}}
	for info, err := range c.bucket.List(ctx, layout.ModulesPrefix+dir) {
		if err != nil {
			return nil, err
		}
		v, ok := layout.ModuleOfKey(info.Key)
		if !ok {
			continue
		}
		if f.modules[v.Module] == nil {
			f.modules[cloned(v.Module)] = map[string]*record{}
		}
		version := strings.Clone(v.Version) // the key has more
		f.modules[v.Module][version] = &record{version: version, size: info.Size, written: info.Modified}
	}
	for info, err := range c.bucket.List(ctx, ownPrefix+dir) {
		if err != nil {
			return nil, err
		}
		v, isNotice, ok := versionOfOwnKey(info.Key)
		if !ok || f.modules[v.Module][v.Version] == nil {
			continue
		}
		if isNotice {
			f.notes = append(f.notes, note{v, stampOf(info)})
		} else {
			f.modules[v.Module][v.Version].side = stampOf(info)
		}
	}
	return f, nil
}

func cloned(m layout.Module) layout.Module {
	text := strings.Clone(m.String())
	i, j := len(m.Namespace), len(m.Namespace)+1+len(m.Name)
	return layout.Module{Namespace: text[:i], Name: text[i+1 : j], System: text[j+1:]}
}

// versionOfOwnKey parses the key of a sidecar, or of a notice.
func versionOfOwnKey(key string) (v layout.ModuleVersion, isNotice, ok bool) {
	parts := strings.Split(strings.TrimPrefix(key, ownPrefix), "/")
	if isNotice = len(parts) == 5 && parts[3] == noticesDir; !isNotice && len(parts) != 4 {
		return v, false, false
	}
	version, ok := strings.CutSuffix(parts[len(parts)-1], ".json")
	if !ok {
		return v, false, false
	}
	v, err := layout.ParseModuleVersion(strings.Join(parts[:3], "/") + "@" + version)
	return v, isNotice, err == nil
}

// refresh lists the whole bucket.
func (c *Catalog) refresh(ctx context.Context) error {
	_, err, _ := c.flights.Do("", func() (any, error) {
		c.mu.RLock()
		began := c.changes
		c.mu.RUnlock()
		f, err := c.list(ctx, "")
		if err != nil {
			return nil, err
		}
		if err := c.readNotices(ctx, f); err != nil {
			return nil, err
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		fresh := make(map[layout.Module]*entry, len(f.modules))
		for m, records := range f.modules {
			fresh[m] = merge(c.modules[m], records, began)
		}
		for m, e := range c.modules { // published while the bucket was listed
			if fresh[m] == nil {
				if kept := merge(e, nil, began); kept != nil {
					fresh[m] = kept
				}
			}
		}
		c.modules = fresh
		return nil, nil
	})
	return err
}

// seek lists one module, unless it was just listed. It is called for unknown names.
func (c *Catalog) seek(ctx context.Context, m layout.Module) error {
	_, err, _ := c.flights.Do(m.String(), func() (any, error) {
		if !c.mayList(m) {
			return nil, nil
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute) // others wait for it, too
		defer cancel()
		select {
		case c.lists <- struct{}{}:
			defer func() { <-c.lists }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if _, err := c.listModule(ctx, m); err != nil {
			c.mu.Lock()
			delete(c.misses, m)
			c.mu.Unlock()
			return nil, err
		}
		return nil, nil
	})
	return err
}

// listModule lists one module, and returns what the index has of it now; nil if nothing.
func (c *Catalog) listModule(ctx context.Context, m layout.Module) (*entry, error) {
	c.mu.RLock()
	began := c.changes
	c.mu.RUnlock()
	f, err := c.list(ctx, m.String()+"/")
	if err == nil {
		err = c.readNotices(ctx, f)
	}
	if err != nil {
		return nil, fmt.Errorf("list the versions of the module %s: %w", m, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e := merge(c.modules[m], f.modules[m], began)
	if e != nil {
		c.modules[m] = e
	} else {
		delete(c.modules, m)
	}
	return e, nil
}

// mayList reports whether a module may be listed again, and records that it is.
func (c *Catalog) mayList(m layout.Module) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.opts.Now()
	if at, ok := c.misses[m]; ok && now.Sub(at) < c.opts.Again {
		return false
	}
	if len(c.misses) >= maxMisses {
		clear(c.misses)
	}
	c.misses[m] = now
	return true
}

// merge makes a module's entry of a list that began when the process had made so many changes; nil
// if nothing is left of the module. It keeps what is known of unchanged objects.
func merge(old *entry, listed map[string]*record, began uint64) *entry {
	e := &entry{records: make([]record, 0, len(listed))}
	if old != nil {
		for i := range old.records {
			r := old.records[i]
			now, there := listed[r.version]
			switch {
			case r.changed > began:
				e.records = append(e.records, r)
				continue
			case !there:
				continue
			}
			if now.side == r.side && now.size == r.size {
				now.facts = r.facts
			}
			if now.facts == nil && r.facts != nil && now.side == (stamp{}) && r.facts.size == now.size && r.written.Equal(now.written) {
				now.facts = r.facts // known although its sidecar could not be written
			}
			if now.notice == nil && now.noted == r.noted && now.noted != (stamp{}) {
				now.notice = r.notice
			}
		}
	}
	for version, r := range listed {
		if e.get(version) == nil {
			e.records = append(e.records, *r)
		}
	}
	if len(e.records) == 0 {
		return nil
	}
	slices.SortFunc(e.records, newest)
	return e
}

// change applies a change that this process made to a release, and announces it.
func (c *Catalog) change(v layout.ModuleVersion, apply func(*record)) *record {
	r := c.changed(v, apply)
	if announce := c.announce.Load(); announce != nil {
		(*announce)(v.Module)
	}
	return r
}

// Announce sets a function that is called after this process has changed the releases of a module. It
// must return soon. Changes by other processes are not announced.
func (c *Catalog) Announce(to func(layout.Module)) { c.announce.Store(&to) }

func (c *Catalog) changed(v layout.ModuleVersion, apply func(*record)) *record {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes++
	e := &entry{}
	if old := c.modules[v.Module]; old != nil {
		e.records = slices.Clone(old.records)
	}
	r := e.get(v.Version)
	if r == nil {
		e.records = append(e.records, record{version: v.Version})
		r = &e.records[len(e.records)-1]
	}
	apply(r)
	r.changed = c.changes
	changed := *r
	slices.SortFunc(e.records, newest)
	c.modules[v.Module] = e
	return &changed
}

// learn reads the remaining sidecars of a module. A sidecar that cannot be read in time stays unknown.
func (c *Catalog) learn(ctx context.Context, m layout.Module) {
	e := c.entry(m)
	if e == nil || !e.unread() {
		return
	}
	done := c.flights.DoChan("learn "+m.String(), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.learning) // others wait for it, too
		defer cancel()
		read := make([]*facts, len(e.records))
		failed := inParallel(len(e.records), func(i int) error {
			r := &e.records[i]
			if !r.unread() {
				return nil
			}
			side, err := c.readSidecar(ctx, layout.ModuleVersion{Module: m, Version: r.version})
			if err == nil {
				read[i] = side.facts()
			}
			if errors.Is(err, errUnusable) {
				read[i] = &facts{size: -1} // do not read it again and again; Describe replaces it
				err = nil
			}
			return err
		})
		if failed != nil {
			c.opts.Log.Warn("reading what is known of a module failed", "module", m.String(), "error", failed)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		now := c.modules[m]
		if now == nil {
			return nil, nil
		}
		fresh := &entry{records: slices.Clone(now.records)}
		for i := range e.records {
			if r := fresh.get(e.records[i].version); r != nil && r.facts == nil && read[i] != nil && r.side == e.records[i].side {
				r.facts = read[i]
			}
		}
		c.modules[m] = fresh
		return nil, nil
	})
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// inParallel calls do for 0 to n-1, several at a time, and returns the first error.
func inParallel(n int, do func(int) error) error {
	var next atomic.Int64
	results := make(chan error)
	workers := min(n, sidecars)
	for range workers {
		go func() {
			var first error
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := do(i); err != nil && first == nil {
					first = err
				}
			}
			results <- first
		}()
	}
	var first error
	for range workers {
		if err := <-results; err != nil && first == nil {
			first = err
		}
	}
	return first
}
