// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package moving

import (
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AnnotationHandedOver marks a stack that "yuba hand-over" gives to an owner without a home, such as a
// directory for plain tofu.
const AnnotationHandedOver = "yuba.dev/handed-over"

// Phase says how far a hand-over is. In none of them Yuba runs the stack.
type Phase string

const (
	// PhaseLeaving: the new owner does not have everything yet.
	PhaseLeaving Phase = "leaving"
	// PhaseArming: the new owner's directory is complete and may have its name already, so the owner may run the
	// stack. Only the directory, or somebody's word, proves that nobody does.
	PhaseArming Phase = "arming"
	// PhaseDone: the stack belongs to the new owner.
	PhaseDone Phase = "done"
	// PhaseReturning: the owner does not run it any more, and its state is brought back.
	PhaseReturning Phase = "returning"
)

// Handover is the value of the annotation.
type Handover struct {
	// ID is the id of the hand-over, which the new owner's files have, too.
	ID string `json:"id"`
	// To is what runs it from now on: tofu, import or crossplane. Owner is who.
	To    string `json:"to"`
	Owner string `json:"owner"`
	// Dir is the directory that the command wrote.
	Dir   string    `json:"dir,omitempty"`
	Phase Phase     `json:"phase"`
	Since time.Time `json:"since"`
	// Armed names the one directory that may become the owner's, from PhaseArming on: two calls of the command may
	// continue the same hand-over.
	Armed string `json:"armed,omitempty"`
	// Serial is that of the state that was handed over.
	Serial uint64 `json:"serial,omitempty"`
	// Before are the fields of the spec that the command changed, as in a [Mark].
	Before map[string]any `json:"before,omitempty"`
}

// Text is the value of the annotation.
func (h Handover) Text() string {
	data, err := json.Marshal(h)
	if err != nil {
		panic(fmt.Sprintf("encode the mark of a hand-over: %v. This is a bug in Yuba.", err))
	}
	return string(data)
}

// HandedOver returns the mark of a stack that another owner has, or will have.
func HandedOver(o metav1.Object) (h Handover, marked bool) {
	text, marked := o.GetAnnotations()[AnnotationHandedOver]
	if marked && json.Unmarshal([]byte(text), &h) != nil {
		h = Handover{}
	}
	return h, marked
}

// Returning reports whether a stack is being taken back: then only its state may change.
func Returning(o metav1.Object) bool {
	h, marked := HandedOver(o)
	return marked && h.Phase == PhaseReturning
}

// Away reports whether a stack belongs to somebody else, who keeps its resources.
func Away(o metav1.Object) bool {
	_, moved := MovedTo(o)
	_, handed := HandedOver(o)
	return moved || handed
}

// Summary describes the owner in a few words.
func (h Handover) Summary() string {
	switch h.Phase {
	case PhaseLeaving, PhaseArming:
		return "Being handed over to " + h.owner()
	case PhaseReturning:
		return "Being taken back from " + h.owner()
	}
	return "Handed over to " + h.owner()
}

func (h Handover) owner() string {
	if h.Owner == "" {
		return "another owner"
	}
	return h.Owner
}

func (h Handover) held(name string) string {
	switch h.Phase {
	case PhaseLeaving:
		return fmt.Sprintf("Being handed over to %s: nothing runs until yuba hand-over has finished. If it was interrupted, run the same command again, or:\n    yuba take-back %s", h.owner(), name)
	case PhaseArming:
		return fmt.Sprintf("Being handed over to %s, who may run it already: nothing runs here. If yuba hand-over was interrupted, run the same command again on the same machine, or:\n    yuba take-back %s", h.owner(), name)
	case PhaseReturning:
		return fmt.Sprintf("Being taken back from %s: nothing runs until that has finished. If it was interrupted, run:\n    yuba take-back %s", h.owner(), name)
	}
	return fmt.Sprintf("Handed over to %s: nothing runs here, and a deletion keeps all resources. To work here again:\n    yuba take-back %s", h.owner(), name)
}
