// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reshape

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// TestAServerThatIsNoLongerInCharge: another replica takes over between two writes. This one writes nothing
// after that, neither states nor its record, and the other one goes on.
func TestAServerThatIsNoLongerInCharge(t *testing.T) {
	w := newWorld(t)
	r, second := w.propose(), w.propose()
	ctx, lose := context.WithCancel(t.Context())
	ended, listed := make(chan error), make(chan struct{}, 1)
	w.desk.broken = func(step string) error {
		switch step {
		case "listed":
			listed <- struct{}{}
		case "wrote a":
			lose()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		return nil
	}
	go func() { ended <- w.desk.Run(ctx) }()
	<-listed
	_, err := w.desk.Apply(t.Context(), w.namespace, r.ID, Approval{By: "ann"})
	if !errors.Is(err, errLost) || !strings.Contains(err.Error(), "/b") {
		t.Fatal(err)
	}
	if got := w.all(); !strings.HasPrefix(got, "a: x.two (locked by ") || !strings.Contains(got, "b: x.three (") || !strings.Contains(got, "c: none (") {
		t.Errorf("it went on: %s", got)
	}
	if _, err := w.desk.Apply(t.Context(), w.namespace, second.ID, Approval{By: "ann"}); !errors.Is(err, errLost) {
		t.Errorf("another one: %v", err)
	}
	w.start()
	if open, err := w.desk.Repair(t.Context()); open != 0 || err != nil || w.all() != moved {
		t.Errorf("%d are open, %v: %s", open, err, w.all())
	}
}
