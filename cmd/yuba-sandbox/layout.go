// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// rank orders the rights below a path. A path inside another of the same or a higher rank needs no
// mount.
type rank int

const (
	readable rank = iota
	executable
	writable
)

// attributes are the mount attributes of a rank.
func (r rank) attributes() uint64 {
	switch r {
	case writable:
		return unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	case executable:
		return unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_RDONLY
	default:
		return unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOEXEC
	}
}

// shown is a file or directory of the machine in the new root, at the same or another path.
type shown struct {
	source, path string
	rank         rank
}

// layout is the content of a root: the listed paths, at the same places, with the links that lead
// to them.
type layout struct {
	shown []shown
	// links are symbolic links, by path.
	links map[string]string
	// seen caches the targets of paths; empty for paths that are not links.
	seen map[string]string
	// buffer receives the target of a link. On the stack it would make the runtime grow the stack.
	buffer []byte
}

// maxLinks limits the links in a path, as in the kernel.
const maxLinks = 40

func newLayout() *layout {
	return &layout{links: map[string]string{}, seen: map[string]string{}, buffer: make([]byte, unix.PathMax)}
}

// add shows a path if it exists.
func (l *layout) add(name string, r rank) error {
	links := map[string]string{}
	real, err := l.resolve(name, links)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	if err != nil {
		return err
	}
	for at, target := range links {
		l.links[at] = target
	}
	l.place(real, real, r)
	return nil
}

// place shows a path at another path.
func (l *layout) place(source, at string, r rank) {
	l.shown = append(l.shown, shown{source, at, r})
}

// resolve follows a path link by link, and records the links.
func (l *layout) resolve(name string, links map[string]string) (string, error) {
	at, rest, followed := "/", split(name), 0
	for len(rest) > 0 {
		next := path.Join(at, rest[0])
		rest = rest[1:]
		target, err := l.target(next)
		if err != nil {
			return "", err
		}
		if target == "" {
			at = next
			continue
		}
		if followed++; followed > maxLinks {
			return "", unix.ELOOP
		}
		links[next] = target
		rest = append(split(target), rest...)
		if strings.HasPrefix(target, "/") {
			at = "/"
		}
	}
	return at, nil
}

// target returns the target of a link; empty if the path is not a link.
func (l *layout) target(name string) (string, error) {
	if target, known := l.seen[name]; known {
		return target, nil
	}
	n, err := unix.Readlink(name, l.buffer)
	if err != nil && !errors.Is(err, unix.EINVAL) {
		return "", err
	}
	l.seen[name] = string(l.buffer[:max(n, 0)])
	return l.seen[name], nil
}

func split(name string) []string {
	return slices.DeleteFunc(strings.Split(name, "/"), func(part string) bool { return part == "" || part == "." })
}

// mounts are the required mounts, outer ones first, without those that an outer one already shows
// with the same rights.
func (l *layout) mounts() []shown {
	// For the same path, more rights come first, and placed paths before both.
	slices.SortStableFunc(l.shown, func(a, b shown) int {
		if order := cmp.Compare(a.path, b.path); order != 0 {
			return order
		}
		return cmp.Compare(b.rank, a.rank)
	})
	var needed []shown
	for _, s := range l.shown {
		if outer, found := above(needed, s.path); found && outer.rank >= s.rank && outer.source == outer.path && s.source == s.path {
			continue
		} else if found && outer.path == s.path {
			continue
		}
		needed = append(needed, s)
	}
	return needed
}

// above is the innermost shown tree that contains the path.
func above(all []shown, name string) (shown, bool) {
	for _, s := range slices.Backward(all) {
		if name == s.path || strings.HasPrefix(name, s.path+"/") {
			return s, true
		}
	}
	return shown{}, false
}
