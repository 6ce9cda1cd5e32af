// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"errors"
	"fmt"
	"testing"

	"github.com/yuba-dev/yuba/internal/tofu/state"
)

func TestAListOfVersionsSaysWhetherThereAreMore(t *testing.T) {
	for stored, want := range map[int]VersionList{
		0: {Items: make([]state.Version, 0)},
		2: {Items: make([]state.Version, 2)},
		3: {Items: make([]state.Version, 3)},
		4: {Items: make([]state.Version, 3), Truncated: true},
		9: {Items: make([]state.Version, 3), Truncated: true},
	} {
		list, err := listVersions(func(yield func(state.Version, error) bool) {
			for i := range stored {
				if !yield(state.Version{ID: fmt.Sprint(i)}, nil) {
					return
				}
			}
		}, 3)
		if err != nil || len(list.Items) != len(want.Items) || list.Truncated != want.Truncated || list.Items == nil {
			t.Errorf("%d versions: %+v, %v", stored, list, err)
		}
	}
	for _, c := range []struct {
		err    error
		listed int
		fails  bool
	}{{&state.CorruptError{}, 1, false}, {errors.New("unreachable"), 0, true}} {
		list, err := listVersions(func(yield func(state.Version, error) bool) { yield(state.Version{}, c.err) }, 3)
		if len(list.Items) != c.listed || (err != nil) != c.fails {
			t.Errorf("%v: %+v, %v", c.err, list, err)
		}
	}
}
