// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reshape

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/tofu/state/moves"
	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

// TestALargeState: half of it moves to another state, and comes back.
func TestALargeState(t *testing.T) {
	// A state of this size is stored in parts. With 1000 resources it has 100 MB, and takes minutes on a busy machine.
	const resources, each = 60, 100 << 10
	w := newWorld(t)
	text := strings.Repeat("0123456789abcdef", each/16)
	var list []string
	for i := range resources {
		list = append(list, fmt.Sprintf(`{"mode":"managed","type":"x","name":"n%d","provider":"provider[\"registry.opentofu.org/acme/x\"]","instances":[{"schema_version":0,"attributes":{"id":"%d","text":%q}}]}`, i, i, text))
	}
	data := fmt.Appendf(nil, `{"version":4,"terraform_version":"1.12.0","serial":8,"lineage":"la","outputs":{},"resources":[%s]}`, strings.Join(list, ","))
	now, _ := w.read("a")
	w.write("a", data, now.Digest)
	var steps []moves.Step
	for i := range resources / 2 {
		address := fmt.Sprintf("x.n%d", i)
		steps = append(steps, moves.Step{Verb: moves.Move, State: "a", From: address, ToState: "c", To: address})
	}
	began := time.Now()
	r, err := w.desk.Propose(t.Context(), w.namespace, "ann", w.stacks("a", "c"), steps)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.desk.Apply(t.Context(), w.namespace, r.ID, Approval{By: "ann"}); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d MB: %v", len(data)>>20, time.Since(began))
	undo, err := w.desk.ProposeUndo(t.Context(), w.namespace, r.ID, "ann", w.stacks("a", "c"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.desk.Apply(t.Context(), w.namespace, undo.ID, Approval{By: "ann"}); err != nil {
		t.Fatal(err)
	}
	back, _ := w.read("a")
	want, err := statefile.WithSerial(data, back.Serial)
	if err != nil || statefile.Digest(want) != back.Digest {
		t.Errorf("the state that came back differs: %v", err)
	}
}
