// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"testing"

	"github.com/yuba-dev/yuba/internal/cli/ui"
)

func TestLinesGoAsFarAsTheTerminal(t *testing.T) {
	c := newTerminal(t, 132, 20)
	a := &ui.Console{}
	for _, test := range []struct {
		room, want int
	}{{a.Room(c.slave, nil), 132}, {a.Room(&bytes.Buffer{}, nil), 100}, {a.Room(c.slave, &ui.Output{Form: ui.WideForm}), 0}, {a.Room(c.slave, &ui.Output{}), 132}} {
		if test.room != test.want {
			t.Errorf("room for %d, want %d", test.room, test.want)
		}
	}
}
