// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestShrinkLeavesTheProcessWorking(t *testing.T) {
	before := bytes.Repeat([]byte("kept "), 1<<16)
	for range 3 {
		if err := Shrink(); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(before, bytes.Repeat([]byte("kept "), 1<<16)) {
		t.Error("memory in use has changed")
	}
	if _, err := os.ReadDir("."); err != nil {
		t.Error(err)
	}
}

func TestOnlyCleanMappingsOfTheProgramAreGivenBack(t *testing.T) {
	const file = "/opt/yuba (deleted) v2/yuba"
	entry := func(addresses, permissions, file, anonymous string) string {
		return fmt.Sprintf("%s %s 00000000 fe:00 1234    %s\nSize:  4 kB\nRss:   4 kB\nAnonymous: %s kB\nVmFlags: rd mr mw me\n",
			addresses, permissions, file, anonymous)
	}
	smaps := entry("00400000-01000000", "r--p", file, "0") + // constants
		entry("01000000-02000000", "r-xp", file, "0") + // code
		entry("02000000-02001000", "r--p", file, "4") + // relocated by the loader, then protected
		entry("02001000-02100000", "rw-p", file, "0") + // data that was not written to yet
		entry("7f0000000000-7f0000100000", "r-xp", "/lib/libc.so.6", "0") +
		entry("c000000000-c000400000", "rw-p", "", "4096")
	want := []mapping{{0x400000, 0x1000000}, {0x1000000, 0x2000000}}
	if diff := cmp.Diff(want, cleanMappings(smaps, file), cmp.AllowUnexported(mapping{})); diff != "" {
		t.Errorf("mappings (-want +got):\n%s", diff)
	}
}
