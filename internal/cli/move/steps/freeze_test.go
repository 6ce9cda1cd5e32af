// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/move/shape"
	"github.com/yuba-dev/yuba/internal/kit/moving"
)

// A pass that read a platform before its mark may still make stacks: only the controller's answer to the mark says that it
// has ended.
func TestAPlatformIsStillWhenItsControllerHasSeenTheMark(t *testing.T) {
	mark := moving.Mark{Move: "m", Home: "h", Name: "prod"}
	held := moving.Held(platformLike(mark, "", ""))
	for sentence, c := range map[string]struct {
		reason, message string
		want            bool
	}{
		"it says nothing yet":                  {"", "", true},
		"its last pass was before the mark":    {"Progressing", "2/5 ready", true},
		"it was ready before the mark":         {"AllPhasesReady", "All 5 phases are ready", true},
		"it speaks of its own arrival":         {moving.Reason, "Being moved here from laptop: nothing runs until yuba move has finished", true},
		"it has seen the mark":                 {moving.Reason, held, false},
		"it has seen the mark of another move": {moving.Reason, moving.Held(platformLike(moving.Mark{Name: "elsewhere"}, "", "")), true},
	} {
		t.Run(sentence, func(t *testing.T) {
			for _, waited := range []time.Duration{0, time.Hour} {
				busy, err := (&Mover{}).works(t.Context(), &pair{kind: shape.Platforms, source: platformLike(mark, c.reason, c.message)}, "", waited)
				if err != nil || (busy != "") != c.want {
					t.Errorf("after %v: %q, %v", waited, busy, err)
				}
			}
		})
	}
}

func platformLike(mark moving.Mark, reason, message string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": []any{
		map[string]any{"type": "Ready", "status": "False", "reason": reason, "message": message}}}}}
	o.SetAnnotations(map[string]string{moving.AnnotationMoved: mark.Text()})
	return o
}

func TestLegacyWorks(t *testing.T) {
	own := func(t *infrav1.Terraform) {
		t.Spec.BackendConfig = &infrav1.BackendConfigSpec{CustomConfiguration: "backend \"s3\" {}"}
	}
	progressing := readyIs("Unknown", infrav1.ReasonProgressing)
	for sentence, c := range map[string]struct {
		stack  *infrav1.Terraform
		waited time.Duration
		want   bool
	}{
		"a stack that is ready is idle":                                {stackLike(), 0, false},
		"one in progress is not":                                       {stackLike(progressing), time.Minute, true},
		"after minutes, only the lock counts":                          {stackLike(progressing), runnerPatience, false},
		"with a backend of its own, it is never taken to have ended":   {stackLike(progressing, own), 24 * time.Hour, true},
		"with a backend of its own, it is idle when it is ready again": {stackLike(own), 0, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := legacyWorks(c.stack, c.waited); got != c.want {
				t.Errorf("works: %v", got)
			}
		})
	}
}
