// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"testing"

	"github.com/yuba-dev/yuba/internal/runs/runner/execution"
	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

func TestALongListSaysWhatItLacks(t *testing.T) {
	s := &stateStep{run: &execution.Run{}}
	s.list([]statefile.Resource{{Address: "a.a"}, {Address: "a.b"}, {Address: "a.c"}}, 2)
	if r := s.run.Result; len(r.State) != 2 || r.StateMore != 1 || len(r.Warnings) != 1 {
		t.Errorf("%+v", r)
	}
}
