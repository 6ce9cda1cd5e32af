// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
)

// unpack adds the files of a package, unless only its licence would remain. It says whether files
// remain.
func (t tree) unpack(p debianPackage) (bool, error) {
	files, useful := tree{}, false
	for archive := tar.NewReader(bytes.NewReader(p.files)); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return false, fmt.Errorf("unpack %s: %w", p.name, err)
		}
		name := inUsr(path.Clean(header.Name))
		if name == "." || !wanted(name) {
			continue
		}
		content, err := io.ReadAll(archive)
		if err == nil {
			err = files.unpackNode(name, header, content)
		}
		if err != nil {
			return false, fmt.Errorf("unpack %s of %s: %w", name, p.name, err)
		}
		useful = useful || header.Typeflag != tar.TypeDir && !isLicence(name)
	}
	if useful {
		maps.Copy(t, files)
	}
	return useful, nil
}

// unpackNode adds a node. Set-user and set-group bits are removed: they would give a run rights.
func (t tree) unpackNode(name string, header *tar.Header, content []byte) error {
	mode := header.Mode & 0o1777
	switch header.Typeflag {
	case tar.TypeReg:
		t[name] = node{kind: tar.TypeReg, mode: mode, content: content}
	case tar.TypeLink:
		target, ok := t[inUsr(path.Clean(header.Linkname))]
		if !ok {
			return fmt.Errorf("it is a hard link to %s, which is missing", header.Linkname)
		}
		t[name] = target
	case tar.TypeSymlink:
		t.addLink(name, header.Linkname)
	case tar.TypeDir:
		t.addDir(name, mode, 0)
	default:
		return fmt.Errorf("files of type %q are not supported", header.Typeflag)
	}
	return nil
}

// inUsr is a path without the symbolic links /bin, /sbin, /lib and /lib64.
func inUsr(name string) string {
	first, _, below := strings.Cut(name, "/")
	if below && slices.Contains([]string{"bin", "sbin", "lib", "lib64"}, first) {
		return "usr/" + name
	}
	return name
}

// unwanted are files and directories that programs in a container do not use: documentation, services
// of a machine, and git's servers.
var unwanted = strings.Fields("etc/cron.daily etc/init.d etc/logrotate.d etc/pam.d " +
	"usr/bin/git-shell usr/bin/scalar usr/lib/git-core/git-daemon usr/lib/git-core/git-http-backend usr/lib/git-core/git-http-push " +
	"usr/lib/git-core/git-imap-send usr/lib/git-core/git-shell usr/lib/git-core/scalar " +
	"usr/lib/systemd usr/lib/sysusers.d usr/lib/tmpfiles.d usr/lib/udev " +
	"usr/share/applications usr/share/apport usr/share/bash-completion usr/share/bug usr/share/doc usr/share/gdb usr/share/git-core/contrib " +
	"usr/share/gitweb usr/share/icons usr/share/info usr/share/initramfs-tools usr/share/lintian usr/share/locale usr/share/man usr/share/menu " +
	"usr/share/perl5 usr/share/pixmaps usr/share/zsh var/cache var/lib/dpkg")

func wanted(name string) bool {
	return isLicence(name) || !slices.ContainsFunc(unwanted, func(dir string) bool {
		return name == dir || strings.HasPrefix(name, dir+"/")
	})
}

// isLicence says whether a file is a package's licence, which must be distributed with the package.
func isLicence(name string) bool {
	return strings.HasPrefix(name, "usr/share/doc/") && path.Base(name) == "copyright"
}

// authorities is where Debian's package has the certificates of authorities, one in a file.
const authorities = "usr/share/ca-certificates/"

// bundleAuthorities joins the certificates into the file that programs read, as the package's
// maintainer script does.
func (t tree) bundleAuthorities() error {
	var bundle bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(t)) {
		if !strings.HasPrefix(name, authorities) {
			continue
		}
		if strings.HasSuffix(name, ".crt") {
			bundle.Write(bytes.TrimSpace(t[name].content))
			bundle.WriteByte('\n')
		}
		delete(t, name)
	}
	if bundle.Len() == 0 {
		return errors.New("bundle the certificates of authorities: Debian's package ca-certificates has none")
	}
	delete(t, path.Clean(authorities))
	delete(t, "usr/sbin/update-ca-certificates")
	t.addFile("etc/ssl/certs/ca-certificates.crt", bundle.String())
	return nil
}

// applets are the commands that runs get from busybox. Programs of Debian's packages win.
var applets = strings.Fields("[ [[ ash awk base64 basename bunzip2 bzcat cat chmod clear cmp cp cut date dd df diff dirname du echo " +
	"egrep env expand expr false fgrep find fold free getopt grep gunzip gzip head hexdump hostname id install kill less ln logger ls md5sum mkdir " +
	"mkfifo mktemp more mv nc nl nproc nslookup od paste patch pidof printf ps pwd readlink realpath rev rm rmdir sed " +
	"seq sh sha1sum sha256sum sha512sum sleep sort stat strings stty sync tail tar tee test timeout top touch tr true truncate tty uname " +
	"unexpand uniq unlzma unxz unzip uptime usleep vi watch wc wget which who whoami xargs xxd xzcat yes zcat")

// addApplets adds the commands of busybox, and checks that busybox has them: the program contains a
// table of their names, from [ to zcat. It may be for another processor, so it cannot be asked.
func (t tree) addApplets() error {
	const busybox = "usr/bin/busybox"
	program, ok := t[busybox]
	if !ok {
		return fmt.Errorf("add the commands of busybox: Debian's package does not have %s", busybox)
	}
	_, table, _ := strings.Cut(string(program.content), "\x00[\x00[[\x00")
	table, _, _ = strings.Cut(table, "\x00\x00")
	names := append(strings.Split(table, "\x00"), "[", "[[")
	for _, name := range applets {
		if !slices.Contains(names, name) {
			return fmt.Errorf("add the commands of busybox: it does not have %s", name)
		}
		if _, ok := t["usr/bin/"+name]; !ok {
			t.addLink("usr/bin/"+name, "busybox")
		}
	}
	return nil
}

// addStatus describes a package where scanners for vulnerabilities look.
func (t tree) addStatus(p debianPackage) {
	t.addFile("var/lib/dpkg/status.d/"+p.name, "Status: install ok installed\n"+p.control)
}

// userID is the user and group of all processes.
const userID = 65532

// addUser adds the user of the processes, its home directory, and a directory for temporary files.
func (t tree) addUser(name, shell string) {
	home := "home/" + name
	t.addFile("etc/passwd", fmt.Sprintf("root:x:0:0:root:/root:/usr/sbin/nologin\n%s:x:%d:%d:%s:/%s:%s\n", name, userID, userID, name, home, shell))
	t.addFile("etc/group", fmt.Sprintf("root:x:0:\n%s:x:%d:\n", name, userID))
	t.addFile("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n")
	t.addDir(home, 0o755, userID)
	t.addDir("tmp", 0o1777, 0)
}
