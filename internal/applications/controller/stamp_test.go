// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/applications/revisions"
	"github.com/yuba-dev/yuba/internal/applications/rollout"
	core "github.com/yuba-dev/yuba/internal/objects/rollout"
)

func TestStamps(t *testing.T) {
	at := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]stamp{
		"3/5":                           {revision: 3, generation: 5},
		"3/5/2026-11-27T12:00:00Z":      {revision: 3, generation: 5, since: at},
		"3/5//ab12":                     {revision: 3, generation: 5, spec: "ab12"},
		"3/5/2026-11-27T12:00:00Z/ab12": {revision: 3, generation: 5, since: at, spec: "ab12"},
		"3/5/yesterday/ab12":            {},
		"":                              {},
		"3":                             {},
		"x/5":                           {},
		"0/5":                           {},
		"3/-1":                          {},
		"3/5/yesterday":                 {},
		"99999999999999999999999/5":     {},
	} {
		got := stampOf(&metav1.ObjectMeta{Annotations: map[string]string{appv1.AnnotationStamp: text}})
		if got != want {
			t.Errorf("%q is read as %+v", text, got)
		}
		if want.revision > 0 && got.String() != text {
			t.Errorf("%q is written as %q", text, got)
		}
	}
	manifest := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "a", "annotations": map[string]any{"b": "c", appv1.AnnotationStamp: "forged"}}}}
	stamped := stamp{revision: 1, generation: 2}.add(manifest)
	if got := stamped.GetAnnotations(); got["b"] != "c" || got[appv1.AnnotationStamp] != "1/2" || stamped.GetName() != "a" {
		t.Errorf("stamped: %v", stamped)
	}
	if manifest.GetAnnotations()[appv1.AnnotationStamp] != "forged" {
		t.Error("the manifest was changed")
	}
}

func TestNewsOfRollouts(t *testing.T) {
	status := func(revision int64, phase appv1.RolloutPhase) *appv1.RolloutStatus {
		return &appv1.RolloutStatus{Revision: revision, Phase: phase, Total: 3, Message: "so far"}
	}
	for sentence, c := range map[string]struct {
		was, is  *appv1.RolloutStatus
		affected int
		reason   string
		message  string
	}{
		"it begins":                     {nil, status(2, appv1.RolloutInProgress), 2, appv1.ReasonRolloutBegan, "Revision 2 begins to reach its instances, at most 10% at a time. It changes 2 of 3"},
		"another one begins":            {status(2, appv1.RolloutFailed), status(3, appv1.RolloutInProgress), 2, appv1.ReasonRolloutBegan, "Revision 3 begins to reach its instances, at most 10% at a time. It changes 2 of 3"},
		"progress is no news":           {status(2, appv1.RolloutInProgress), status(2, appv1.RolloutInProgress), 2, "", ""},
		"it fails":                      {status(2, appv1.RolloutInProgress), status(2, appv1.RolloutFailed), 2, appv1.ReasonRolloutFailed, "so far"},
		"it goes on":                    {status(2, appv1.RolloutFailed), status(2, appv1.RolloutInProgress), 2, appv1.ReasonRolloutResumed, "so far"},
		"it is paused":                  {status(2, appv1.RolloutInProgress), status(2, appv1.RolloutPaused), 2, appv1.ReasonRolloutPaused, "so far"},
		"it is complete":                {status(2, appv1.RolloutInProgress), status(2, appv1.RolloutComplete), 2, appv1.ReasonRolloutComplete, "All instances have revision 2: so far"},
		"it alters nothing: no message": {status(1, appv1.RolloutComplete), status(2, appv1.RolloutComplete), 0, "", ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			if reason, _, message := rolloutNews(c.was, c.is, c.affected, "10%"); reason != c.reason || message != c.message {
				t.Errorf("%s: %s", reason, message)
			}
		})
	}
}

// TestATurnCountsAtOnce: until a pass has seen the object, an instance with a turn is on its way,
// whatever a pass reports that began before.
func TestATurnCountsAtOnce(t *testing.T) {
	w, key, now := newWave(revisions.State{Base: 1, Target: 2}, nil), Key{"Bucket", "team", "photos"}, time.Now()
	w.set(policy{limit: "1", deadline: patience})
	w.begin()
	if _, whole := w.facts([]Key{key}, now); whole {
		t.Error("it decides before it knows all instances")
	}
	ready := rollout.Instance{Name: key.member(), Ready: true}
	if !w.report(key, ready) || w.report(key, ready) {
		t.Error("news is what is new")
	}
	if _, has := w.turn(key, now); has {
		t.Error("it has a turn that nobody gave")
	}
	if keys := w.grant("Bucket", []core.Update{{Name: key.member(), Starts: true}}, now); len(keys) != 1 || keys[0] != key {
		t.Errorf("granted: %v", keys)
	}
	w.report(key, ready)
	facts, _ := w.facts([]Key{key}, now)
	if i := facts.Instances[0]; !i.Target || i.Ready || i.Since.IsZero() {
		t.Errorf("it counts as %+v", i)
	}
	if keys := w.grant("Bucket", []core.Update{{Name: key.member(), Starts: true}}, now); len(keys) != 0 {
		t.Errorf("granted twice: %v", keys)
	}
}
