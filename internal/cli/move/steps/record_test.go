// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/yuba-dev/yuba/internal/cli/move/decide"
	"github.com/yuba-dev/yuba/internal/cli/move/shape"
)

// A record that fits when a move begins fits when it is complete, too.
func TestRecordHasRoomForTheEndOfTheMove(t *testing.T) {
	largest := 0
	for _, n := range []int{10, 5000, 8000, 9000, 10000, 13000} {
		var keys []string
		for i := range n {
			keys = append(keys, keyOf("Secret", fmt.Sprintf("credentials-%05d", i)))
		}
		fits := (&record{}).fits(keys)
		done := &record{Format: recordFormat, Move: newID(), Role: decide.RoleSource, Home: filler(100), Name: filler(1000), Phase: decide.PhaseVerified, Objects: map[string]entry{}, Claim: filler(300)}
		for _, key := range keys {
			done.Objects[key] = entry{Move: done.Move, Digest: filler(shape.DigestLength)}
		}
		text, err := json.Marshal(done)
		if err != nil {
			t.Fatal(err)
		}
		if fits && len(text) > maxRecord {
			t.Errorf("%d objects fit at the beginning, and not at the end", n)
		}
		if fits {
			largest = n
		}
	}
	if largest < 8000 || largest == 13000 {
		t.Errorf("the largest record has %d objects", largest)
	}
}
