// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package moving

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The annotations with the marks.
const (
	AnnotationMoved    = "yuba.dev/moved-to"
	AnnotationArriving = "yuba.dev/arriving-from"
)

// Reason is the reason of conditions of marked objects.
const Reason = "Moved"

// Mark is the value of both annotations.
type Mark struct {
	// Move is the id of the move.
	Move string `json:"move"`
	// Home is the id of the other home, Name what the user calls it.
	Home string `json:"home"`
	Name string `json:"name,omitempty"`
	// Before are the fields of the spec that the move changed, by their names, with the values that
	// they get back. A field with the value null had none.
	Before map[string]any `json:"before,omitempty"`
	// Generation is that of the object before the move suspended it.
	Generation int64 `json:"generation,omitempty"`
}

// Text is the value of the annotation.
func (m Mark) Text() string {
	data, err := json.Marshal(m)
	if err != nil {
		panic(fmt.Sprintf("encode the mark of a move: %v. This is a bug in Yuba.", err))
	}
	return string(data)
}

// MovedTo returns the mark of an object that was moved to another home.
func MovedTo(o metav1.Object) (Mark, bool) { return read(o, AnnotationMoved) }

// ArrivingFrom returns the mark of an object that is not complete yet.
func ArrivingFrom(o metav1.Object) (Mark, bool) { return read(o, AnnotationArriving) }

func read(o metav1.Object, annotation string) (m Mark, marked bool) {
	text, marked := o.GetAnnotations()[annotation]
	if marked && json.Unmarshal([]byte(text), &m) != nil {
		m = Mark{}
	}
	return m, marked
}

// Held says why a controller must not work on an object; empty if it may.
func Held(o metav1.Object) string {
	if m, ok := MovedTo(o); ok {
		return fmt.Sprintf("Moved to %s by yuba move: nothing runs here, and a deletion keeps all resources. To work here again, move it back", m.home())
	}
	if m, ok := ArrivingFrom(o); ok {
		return fmt.Sprintf("Being moved here from %s: nothing runs until yuba move has finished. If it was interrupted, run the same command again", m.home())
	}
	if h, ok := HandedOver(o); ok {
		return h.held(o.GetNamespace() + "/" + o.GetName())
	}
	return ""
}

func (m Mark) home() string {
	if m.Name == "" {
		return "another home"
	}
	return m.Name
}
