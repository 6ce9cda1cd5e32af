// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

func (f *fixture) push(data []byte, force bool) (Version, error) {
	f.t.Helper()
	return f.Push(f.t.Context(), f.key, PushRequest{Data: data, Force: force,
		By: By{Holder: LockInfo{ID: "run-7", Who: "ann"}, RunID: "run-7"}})
}

func ofLineage(data []byte, lineage string) []byte {
	return bytes.Replace(data, []byte(`"line"`), []byte(`"`+lineage+`"`), 1)
}

func TestAPushFollowsTheRulesOfTofu(t *testing.T) {
	for sentence, test := range map[string]struct {
		there, pushed []byte
		problem       string
		// forced is the state after the same push with force.
		forced []byte
	}{
		"there is none":             {nil, aState(4, "a"), "", nil},
		"a newer one":               {aState(3, "a"), aState(9, "b"), "", nil},
		"the very same":             {aState(3, "a"), aState(3, "a"), "", nil},
		"an older one":              {aState(3, "a"), aState(2, "b"), "is newer, with serial 3", aState(4, "b")},
		"another of the serial":     {aState(3, "a"), aState(3, "b"), "the same serial, 3, but other content", aState(4, "b")},
		"one of another lineage":    {aState(3, "a"), ofLineage(aState(8, "b"), "other"), `its lineage is "other"`, ofLineage(aState(4, "b"), "other")},
		"one that knows no lineage": {aState(3, "a"), ofLineage(aState(8, "b"), ""), "", nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			f := newFixture(t)
			if test.there != nil {
				f.write("run-1", Mark{}, test.there)
			}
			version, err := f.push(test.pushed, false)
			if test.problem == "" {
				if err != nil || version.Digest != statefile.Digest(test.pushed) {
					t.Fatalf("pushed %+v, %v", version, err)
				}
				f.wantState(test.pushed)
				return
			}
			var refused *PushError
			if !errors.As(err, &refused) || !refused.Forceable || !strings.Contains(err.Error(), test.problem) || !strings.Contains(err.Error(), "--force") {
				t.Fatalf("got %v, want %q", err, test.problem)
			}
			f.wantState(test.there)
			if _, err := f.push(test.pushed, true); err != nil {
				t.Fatal(err)
			}
			f.wantState(test.forced)
		})
	}
}

func TestAPushedStateNamesWhoPushedItAndItsRun(t *testing.T) {
	f := newFixture(t)
	f.write("run-1", Mark{}, aState(1, "a"))
	version, err := f.push(aState(5, "b"), false)
	if err != nil || version.RunID != "run-7" || version.Reason != "pushed by ann" {
		t.Errorf("got %+v, %v", version, err)
	}
}

func TestOnlyAForcedPushReplacesWhatIsGoneOrDamaged(t *testing.T) {
	f := newFixture(t)
	f.write("run-1", Mark{}, withResource(aState(1, "a")))
	f.deleteSecret()
	var vanished *VanishedError
	if _, err := f.push(aState(2, "b"), false); !errors.As(err, &vanished) {
		t.Errorf("onto one that is gone: %v", err)
	}
	if _, err := f.push(aState(2, "b"), true); err != nil {
		t.Fatal(err)
	}
	f.wantState(aState(2, "b"))
	f.meddle(map[string][]byte{dataKey: []byte("garbage")})
	var corrupt *CorruptError
	if _, err := f.push(aState(7, "c"), false); !errors.As(err, &corrupt) {
		t.Errorf("onto a damaged one: %v", err)
	}
	if _, err := f.push(aState(7, "c"), true); err != nil {
		t.Fatal(err)
	}
	f.wantState(aState(3, "c"))
}

func TestWhatIsNoStateIsNotPushed(t *testing.T) {
	f := newFixture(t)
	f.write("run-1", Mark{}, aState(1, "a"))
	for _, data := range []string{"", "no state", `{"version":3}`} {
		var corrupt *CorruptError
		if _, err := f.push([]byte(data), true); !errors.As(err, &corrupt) || !corrupt.Offered {
			t.Errorf("%q: %v", data, err)
		}
	}
	f.wantState(aState(1, "a"))
}
