// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/gateway/content"
)

// queue is the output of "yuba queue" as "stack urgency", in order.
func (y *yuba) queue(t *testing.T) []string {
	t.Helper()
	out, news, code := y.run(t, "queue", "-o", "json")
	if code != 0 {
		t.Fatalf("yuba queue ended with %d: %s", code, news)
	}
	var q content.Queue
	if err := json.Unmarshal([]byte(out), &q); err != nil {
		t.Fatalf("yuba queue printed %q: %v", out, err)
	}
	var lines []string
	place := 0
	for _, e := range q.Items {
		if e.Place > 0 {
			place++
		}
		if e.Place != place {
			t.Errorf("%s/%s stands at %d and says %d", e.Namespace, e.Name, place, e.Place)
		}
		lines = append(lines, e.Name+" "+e.Urgency)
	}
	return lines
}

// TestQueue: one run at a time, and the next one is prepared meanwhile. A namespace with many runs
// does not block a later one with one run, and requested runs come before all that have not begun.
func TestQueue(t *testing.T) {
	t.Parallel()
	y := alone(t, "--concurrency", "1")
	many, one := y.namespace(t), y.namespace(t)
	asked := inline(many, "asked", vpcHCL, auto)
	y.create(t, asked)
	before := y.await(t, asked, "it is ready", ready).Status.LastRun.ID

	slow := inline(many, "slow", gated, auto)
	y.create(t, slow)
	reached, open := y.gate(slow)
	awaitFile(t, reached)
	var others []*infrav1.Terraform
	for _, name := range []string{"a", "b", "c"} {
		obj := inline(many, name, vpcHCL, auto)
		y.create(t, obj)
		others = append(others, obj)
		y.awaitQueue(t, name+" change")
	}
	late := inline(one, "late", vpcHCL, auto)
	y.create(t, late)
	y.awaitQueue(t, "late change")
	change(t, y, asked, func(o *infrav1.Terraform) {
		o.Annotations = map[string]string{infrav1.AnnotationReconcile: "now"}
	})
	y.awaitQueue(t, "asked awaited")
	want := []string{"slow change", "a change", "asked awaited", "late change", "b change", "c change"}
	if diff := cmp.Diff(want, y.queue(t)); diff != "" {
		t.Errorf("the queue (-want +got):\n%s", diff)
	}

	touch(t, open)
	for _, obj := range append(others, slow, late) {
		y.await(t, obj, "it is ready", ready)
	}
	y.await(t, asked, "what was asked for was done", func(o *infrav1.Terraform) bool {
		return ready(o) && o.Status.LastHandledReconcileAt == "now" && o.Status.LastRun.ID > before
	})
	if _, news, code := y.run(t, "queue"); code != 0 || !containsAll(news, "No run is running or queued") {
		t.Errorf("an empty queue ended with %d: %s", code, news)
	}
}

func (y *yuba) awaitQueue(t *testing.T, line string) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if slices.Contains(y.queue(t), line) {
			return
		}
	}
	t.Fatalf("%q did not come into the queue: %v", line, y.queue(t))
}
