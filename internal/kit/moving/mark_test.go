// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package moving

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestMarksAreReadAsWritten(t *testing.T) {
	want := Mark{Move: "m1", Home: "h2", Name: "prod", Before: map[string]any{"suspend": nil, "prune": true}, Generation: 3}
	got, ok := MovedTo(&metav1.ObjectMeta{Annotations: map[string]string{AnnotationMoved: want.Text()}})
	if diff := cmp.Diff(want, got); diff != "" || !ok {
		t.Errorf("marked %v (-want +got):\n%s", ok, diff)
	}
}

func TestHeld(t *testing.T) {
	for sentence, c := range map[string]struct {
		annotations map[string]string
		want        string
	}{
		"an ordinary object is free":              {nil, ""},
		"a moved object is held":                  {map[string]string{AnnotationMoved: Mark{Name: "prod"}.Text()}, "Moved to prod"},
		"an arriving object is held":              {map[string]string{AnnotationArriving: Mark{Name: "laptop"}.Text()}, "from laptop"},
		"a mark that cannot be read still is one": {map[string]string{AnnotationMoved: "?"}, "Moved to another home"},
		"an empty mark is one, too":               {map[string]string{AnnotationArriving: ""}, "from another home"},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := Held(&metav1.ObjectMeta{Annotations: c.annotations})
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("held: %q, want %q", got, c.want)
			}
		})
	}
}

func TestHandedOverStacksAreHeld(t *testing.T) {
	want := Handover{ID: "1", To: "tofu", Owner: "ada", Phase: PhaseDone, Serial: 3, Before: map[string]any{"suspend": nil}}
	for sentence, c := range map[string]struct {
		value, want string
		returning   bool
	}{
		"one that was handed over":        {want.Text(), "Handed over to ada", false},
		"one that is leaving":             {Handover{Owner: "ada", Phase: PhaseLeaving}.Text(), "Being handed over to ada", false},
		"one that is arming":              {Handover{Owner: "ada", Phase: PhaseArming}.Text(), "Being handed over to ada, who may run it already", false},
		"one that comes back":             {Handover{Owner: "ada", Phase: PhaseReturning}.Text(), "Being taken back from ada", true},
		"one whose mark cannot be read":   {"?", "Handed over to another owner", false},
		"one with an empty mark, as well": {"", "Handed over to another owner", false},
	} {
		t.Run(sentence, func(t *testing.T) {
			o := &metav1.ObjectMeta{Namespace: "team", Name: "vpc", Annotations: map[string]string{AnnotationHandedOver: c.value}}
			if got := Held(o); !strings.Contains(got, c.want) || !strings.Contains(got, "yuba take-back team/vpc") || !Away(o) || Returning(o) != c.returning {
				t.Errorf("held: %q, away %v, returning %v", got, Away(o), Returning(o))
			}
		})
	}
	got, ok := HandedOver(&metav1.ObjectMeta{Annotations: map[string]string{AnnotationHandedOver: want.Text()}})
	if diff := cmp.Diff(want, got); diff != "" || !ok {
		t.Errorf("marked %v (-want +got):\n%s", ok, diff)
	}
}
