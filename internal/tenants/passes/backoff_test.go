// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package passes

import (
	"testing"
	"time"
)

func TestRefusedWritesAreTriedLessAndLessOften(t *testing.T) {
	at := time.Unix(1000, 0)
	last := time.Duration(0)
	for times := 1; times < 100; times++ {
		pause := (&Refusal{At: at, Times: times}).Due().Sub(at)
		if pause < last || pause > LongestRefusal || pause < ShortestPause {
			t.Fatalf("after %d times: %s, before that %s", times, pause, last)
		}
		last = pause
	}
	if last != LongestRefusal {
		t.Errorf("in the end: %s", last)
	}
}
