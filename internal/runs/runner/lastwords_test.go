// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"strings"
	"testing"
)

// The last lines of a crash are a trace of calls. People need the cause, which stands above it.
func TestTheCauseOfACrashIsTold(t *testing.T) {
	many := strings.Repeat("a line\n", 20)
	for sentence, test := range map[string]struct{ raw, want string }{
		"tofu's own words for a crash": {"!!! OPENTOFU CRASH !!!\n\nPlease report it.\n\n!!! OPENTOFU CRASH !!!\n\ncannot serialize infinity\n\ngoroutine 1 [running]:\nmain.main()\n" + many,
			"cannot serialize infinity"},
		"a panic of Go":          {many + "panic: runtime error: index out of range\n\n[signal SIGSEGV]\n\ngoroutine 7 [running]:\n" + many, "a line\npanic: runtime error: index out of range\n[signal SIGSEGV]"},
		"an end without a crash": {many + "the end", strings.Repeat("a line\n", 9) + "the end"},
		"no words at all":        {"", ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := strings.Join(lastWords(strings.Split(test.raw, "\n")), "\n"); got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}
