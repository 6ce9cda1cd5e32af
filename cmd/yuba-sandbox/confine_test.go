// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// One rule covers the files in /etc. Links there, as /etc/resolv.conf often is one, need a rule for the file that they lead to;
// directories may be listed.
func TestOneRuleForTheFilesInEtc(t *testing.T) {
	entries, err := os.ReadDir("/etc")
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(entries, func(e fs.DirEntry) bool { return e.Type()&fs.ModeSymlink != 0 })
	if i < 0 {
		t.Fatal("/etc has no link for this test")
	}
	link := filepath.Join("/etc", entries[i].Name())
	dirs, rest := together([]string{"/dev/zero", "/etc/hosts", link, "/etc/group", "/etc/skel", "/etc/ssl/certs", "/etc/gone"})
	if want := []string{"/dev/zero", link, "/etc/skel", "/etc/ssl/certs", "/etc/gone"}; !slices.Equal(rest, want) || !slices.Equal(dirs, []string{"/etc"}) {
		t.Errorf("got %q and %q, want %q", dirs, rest, want)
	}
	if dirs, rest := together([]string{"/etc/skel"}); len(dirs) != 0 || len(rest) != 1 {
		t.Errorf("a directory alone: %q and %q", dirs, rest)
	}
}
