// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// The program's root is a file system in memory with only the listed paths, each at its own place,
// because plans and abspath() contain paths. Unlisted files have no name there, so no system call
// reaches them. The process has its own mount namespace, so other processes do not see this root.

// The account files in which programs such as ssh and git look up their user. Those of the machine
// lack the run's user, and list others that a run need not know.
const (
	accountName = "runner"
	accountHome = "/home/runner"
	passwdFile  = "/etc/passwd"
	groupFile   = "/etc/group"
)

// streams are names of the standard files, for scripts and shells.
var streams = map[string]string{"/dev/fd": "/proc/self/fd", "/dev/stdin": "/proc/self/fd/0", "/dev/stdout": "/proc/self/fd/1", "/dev/stderr": "/proc/self/fd/2"}

// tree is a file or directory of the machine, detached to be mounted in the new root.
type tree struct {
	shown
	fd int
	// kind is the type of file.
	kind uint32
}

// makeRoot makes the layout the root of this process. user is the user of the program.
func (o *options) makeRoot(user int) error {
	l, err := o.layout()
	if err != nil {
		return err
	}
	cwd, err := unix.Getwd()
	if err != nil {
		return fmt.Errorf("ask for the working directory: %w", err)
	}
	// The following mounts do not propagate to the machine.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("leave the machine's mounts: %w", err)
	}
	trees, err := takeTrees(l.mounts())
	if err != nil {
		return err
	}
	if o.userMapped {
		// Only root can reach the paths, and only a mapped user can create files there.
		if err := become(o.user, 0); err != nil {
			return err
		}
	}
	if err := enterEmptyRoot(); err != nil {
		return err
	}
	b := &builder{made: map[string]bool{}}
	for name, target := range streams {
		l.links[name] = target
	}
	if err := errors.Join(b.accounts(user), b.names(o.tunnel), b.attach(trees), b.link(l), b.processes()); err != nil {
		return err
	}
	if err := swapRoots(); err != nil {
		return err
	}
	if err := unix.Chdir(cwd); err != nil {
		return fmt.Errorf("enter the working directory %s, which is not among the paths: %w", cwd, err)
	}
	return nil
}

func (o *options) layout() (*layout, error) {
	l := newLayout()
	for _, list := range []struct {
		paths []string
		rank  rank
	}{{o.rw, writable}, {o.rx, executable}, {o.ro, readable}} {
		for _, name := range list.paths {
			if name == passwdFile || name == groupFile || o.tunnel && (name == resolverFile || name == resolverDir || name == hostsFile) {
				continue
			}
			if err := l.add(name, list.rank); err != nil {
				return nil, fmt.Errorf("find %s: %w", name, err)
			}
		}
	}
	for _, p := range o.placed {
		l.place(p.source, p.path, writable)
	}
	return l, nil
}

// takeTrees detaches the trees from the machine's file tree, with the mounts in them.
func takeTrees(all []shown) ([]tree, error) {
	trees := make([]tree, 0, len(all))
	for _, s := range all {
		t := tree{shown: s}
		var err error
		t.fd, err = unix.OpenTree(unix.AT_FDCWD, s.source, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE|unix.AT_SYMLINK_NOFOLLOW)
		if err != nil {
			return nil, fmt.Errorf("show %s: %w", s.source, err)
		}
		var info unix.Stat_t
		if err := unix.Fstat(t.fd, &info); err != nil {
			return nil, fmt.Errorf("show %s: %w", s.source, err)
		}
		t.kind = info.Mode & unix.S_IFMT
		attributes := s.rank.attributes()
		if t.kind == unix.S_IFCHR { // listed devices, such as /dev/null, stay usable
			attributes &^= unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_RDONLY
		}
		if err := unix.MountSetattr(t.fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: attributes}); err != nil {
			return nil, fmt.Errorf("show %s with fewer rights: %w", s.source, err)
		}
		trees = append(trees, t)
	}
	return trees, nil
}

// enterEmptyRoot mounts an empty file system over a directory that is no longer needed, and enters
// it.
func enterEmptyRoot() error {
	var problem error
	for _, over := range []string{"/tmp", "/run", "/usr"} {
		problem = unix.Mount("yuba", over, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "mode=0755,size=1m,nr_inodes=4096")
		if problem == nil {
			problem = unix.Chdir(over)
		}
		if !errors.Is(problem, unix.ENOENT) {
			break
		}
	}
	if problem != nil {
		return fmt.Errorf("make an empty root: %w", problem)
	}
	return nil
}

// builder fills the empty root, which is the working directory.
type builder struct {
	made     map[string]bool
	attached []shown
}

// attach puts each tree at its place.
func (b *builder) attach(trees []tree) error {
	for _, t := range trees {
		dir, name, err := b.place(t)
		if err != nil {
			return fmt.Errorf("create a place for %s: %w", t.path, err)
		}
		err = unix.MoveMount(t.fd, "", dir, name, unix.MOVE_MOUNT_F_EMPTY_PATH)
		unix.Close(t.fd) //nolint:errcheck // it is attached or the process ends
		if dir != unix.AT_FDCWD {
			unix.Close(dir) //nolint:errcheck // it was only looked through
		}
		if err != nil {
			return fmt.Errorf("put %s in its place: %w", t.path, err)
		}
		b.attached = append(b.attached, t.shown)
	}
	return nil
}

// place creates the mount point of a tree.
func (b *builder) place(t tree) (dir int, name string, err error) {
	if _, inside := above(b.attached, t.path); inside {
		return b.placeInside(t)
	}
	name = t.path[1:]
	if t.kind == unix.S_IFDIR {
		return unix.AT_FDCWD, name, b.mkdirAll(name)
	}
	if err := b.mkdirAll(path.Dir(name)); err != nil {
		return 0, "", err
	}
	return unix.AT_FDCWD, name, b.write(name, "")
}

// placeInside creates a mount point inside an attached tree. It follows no links there, because an
// earlier process of the run may have created them.
func (b *builder) placeInside(t tree) (dir int, name string, err error) {
	dir, err = unix.Open(".", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	parts := split(t.path)
	for i := 0; err == nil && i < len(parts)-1; i++ {
		dir, err = step(dir, parts[i])
	}
	if err != nil {
		return 0, "", err
	}
	name = parts[len(parts)-1]
	var info unix.Stat_t
	switch err := unix.Fstatat(dir, name, &info, unix.AT_SYMLINK_NOFOLLOW); {
	case err == nil && info.Mode&unix.S_IFMT == unix.S_IFLNK:
		return 0, "", unix.ELOOP
	case err == nil:
		return dir, name, nil
	case t.kind == unix.S_IFDIR:
		return dir, name, unix.Mkdirat(dir, name, 0o755)
	}
	fd, err := unix.Openat(dir, name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o644)
	if err == nil {
		err = unix.Close(fd)
	}
	return dir, name, err
}

// step enters a directory, creates it if missing, and closes the one before.
func step(dir int, name string) (int, error) {
	const flags = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	next, err := unix.Openat(dir, name, flags, 0)
	if errors.Is(err, unix.ENOENT) {
		if err = unix.Mkdirat(dir, name, 0o755); err == nil {
			next, err = unix.Openat(dir, name, flags, 0)
		}
	}
	unix.Close(dir) //nolint:errcheck // it was only looked through
	return next, err
}

// mkdirAll creates a directory in the root itself, where only this process creates files.
func (b *builder) mkdirAll(name string) error {
	if name == "." || b.made[name] {
		return nil
	}
	if err := b.mkdirAll(path.Dir(name)); err != nil {
		return err
	}
	b.made[name] = true
	if err := unix.Mkdir(name, 0o755); err != nil && !errors.Is(err, unix.EEXIST) {
		return err
	}
	return nil
}

func (b *builder) write(name, text string) error {
	fd, err := unix.Open(name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		return err
	}
	if text != "" {
		_, err = unix.Write(fd, []byte(text))
	}
	return errors.Join(err, unix.Close(fd))
}

// link creates the links of the layout.
func (b *builder) link(l *layout) error {
	names := make([]string, 0, len(l.links))
	for name := range l.links {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if _, inside := above(b.attached, name); inside {
			continue
		}
		if err := b.mkdirAll(path.Dir(name[1:])); err != nil {
			return fmt.Errorf("create the link %s: %w", name, err)
		}
		if err := unix.Symlink(l.links[name], name[1:]); err != nil {
			return fmt.Errorf("create the link %s: %w", name, err)
		}
	}
	return nil
}

// accounts writes the account files, with the program's user.
func (b *builder) accounts(user int) error {
	id := strconv.Itoa(user)
	if err := b.mkdirAll("etc"); err != nil {
		return fmt.Errorf("create the list of users: %w", err)
	}
	passwd := accountName + ":x:" + id + ":" + id + ":" + accountName + ":" + accountHome + ":/bin/sh\n"
	group := accountName + ":x:" + id + ":\n"
	for _, other := range []struct{ id, name string }{{"0", "root"}, {"65534", "nobody"}} {
		if other.id != id {
			passwd += other.name + ":x:" + other.id + ":" + other.id + ":" + other.name + ":/nonexistent:/usr/sbin/nologin\n"
			group += other.name + ":x:" + other.id + ":\n"
		}
	}
	if err := errors.Join(b.write(passwdFile[1:], passwd), b.write(groupFile[1:], group)); err != nil {
		return fmt.Errorf("create the list of users: %w", err)
	}
	return nil
}

// names writes the files by which a program with a tunnel resolves names.
func (b *builder) names(tunnel bool) error {
	if !tunnel {
		return nil
	}
	if err := errors.Join(b.write(resolverFile[1:], resolverText), b.write(hostsFile[1:], hostsText)); err != nil {
		return fmt.Errorf("create the resolver's configuration: %w", err)
	}
	return nil
}

// processes mounts a /proc with only the processes of the program's namespace; programs find their
// own file there. If the kernel refuses, as in containers that hide parts of /proc, there is none.
func (b *builder) processes() error {
	if err := b.mkdirAll("proc"); err != nil {
		return fmt.Errorf("make /proc: %w", err)
	}
	err := unix.Mount("proc", "proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC|unix.MS_RDONLY, "subset=pid")
	if err != nil && !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("mount /proc: %w", err)
	}
	return nil
}

// swapRoots makes the working directory the root and unmounts the old one.
func swapRoots() error {
	// The old root ends up on top of the new one, where the next call finds it.
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("change the root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave the old root: %w", err)
	}
	attributes := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOEXEC}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", 0, &attributes); err != nil {
		return fmt.Errorf("make the root read-only: %w", err)
	}
	return nil
}
