// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Object has conditions.
type Object interface {
	GetGeneration() int64
	GetConditions() []metav1.Condition
	SetConditions([]metav1.Condition)
}

// Of returns the condition of a type, or the zero condition.
func Of(o Object, kind string) metav1.Condition {
	if c := apimeta.FindStatusCondition(o.GetConditions(), kind); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// Set sets a condition for the object's current generation.
func Set(o Object, kind string, status metav1.ConditionStatus, reason, message string) {
	list := o.GetConditions()
	apimeta.SetStatusCondition(&list, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message,
		ObservedGeneration: o.GetGeneration()})
	o.SetConditions(list)
}

// Remove removes conditions.
func Remove(o Object, kinds ...string) {
	list := o.GetConditions()
	for _, kind := range kinds {
		apimeta.RemoveStatusCondition(&list, kind)
	}
	o.SetConditions(list)
}
