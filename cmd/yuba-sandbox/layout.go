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

// rank orders what a program may do below a path: a path inside of another of the same or a higher rank is there anyway.
type rank int

const (
	readable rank = iota
	executable
	writable
)

// attributes are those of the mount that shows a path of the rank.
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

// shown is a file or directory of the machine that the new root has, at the same or another path.
type shown struct {
	source, path string
	rank         rank
}

// layout is what a root shows of the machine: the listed paths, at the same places, with the links that lead to them.
type layout struct {
	shown []shown
	// links are symbolic links by their path.
	links map[string]string
	// seen has what is known of the machine's paths: the target of a link, or nothing.
	seen map[string]string
	// buffer receives the target of a link. On the stack it would force the runtime to grow that.
	buffer []byte
}

// maxLinks is how many links a path may lead through, as the kernel has it.
const maxLinks = 40

func newLayout() *layout {
	return &layout{links: map[string]string{}, seen: map[string]string{}, buffer: make([]byte, unix.PathMax)}
}

// add shows a path, or nothing where it does not exist.
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

// place shows a path at another one.
func (l *layout) place(source, at string, r rank) {
	l.shown = append(l.shown, shown{source, at, r})
}

// resolve follows a path link by link, and notes the links.
func (l *layout) resolve(name string, links map[string]string) (string, error) {
	at, rest, followed := "/", split(name), 0
	for len(rest) > 0 {
		next := path.Join(at, rest[0])
		rest = rest[1:]
		target, err := l.look(next)
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

// look returns the target of a link, nothing for what is none.
func (l *layout) look(name string) (string, error) {
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

// mounts are what has to be mounted, outer ones first: what an outer one shows already with the same rights is left out.
func (l *layout) mounts() []shown {
	// Of two ways to show the same path the one with more rights comes first, and what is placed there before both.
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

// above is the innermost of what is shown that has the path.
func above(all []shown, name string) (shown, bool) {
	for _, s := range slices.Backward(all) {
		if name == s.path || strings.HasPrefix(name, s.path+"/") {
			return s, true
		}
	}
	return shown{}, false
}
