// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"bytes"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestARestorationThatIsReportedAsFailedDoesNotHappen(t *testing.T) {
	archive, dir := archiveOf(t, before), newDir(t, after)
	_, err := stage(dir, bytes.NewReader(archive), func(string) error { return syscall.EIO })
	if err == nil || !strings.Contains(err.Error(), "Nothing was changed") {
		t.Errorf("the answer: %v", err)
	}
	if Pending(dir) {
		t.Error("it waits for the next start all the same")
	}
	if err := ApplyPending(dir, silent); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(after, content(t, string(dir))); diff != "" {
		t.Errorf("what is in use was changed (-want +got):\n%s", diff)
	}
	if _, err := Stage(dir, bytes.NewReader(archive)); err != nil {
		t.Errorf("another attempt: %v", err)
	}
}
