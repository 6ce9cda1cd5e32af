// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestIsReady(t *testing.T) {
	condition := func(kind corev1.NodeConditionType, status corev1.ConditionStatus) corev1.NodeCondition {
		return corev1.NodeCondition{Type: kind, Status: status}
	}
	for sentence, c := range map[string]struct {
		conditions []corev1.NodeCondition
		want       bool
	}{
		"nothing is reported yet":       {nil, false},
		"only other conditions":         {[]corev1.NodeCondition{condition(corev1.NodeDiskPressure, corev1.ConditionTrue)}, false},
		"it is not ready":               {[]corev1.NodeCondition{condition(corev1.NodeReady, corev1.ConditionFalse)}, false},
		"nobody knows":                  {[]corev1.NodeCondition{condition(corev1.NodeReady, corev1.ConditionUnknown)}, false},
		"it is ready, among conditions": {[]corev1.NodeCondition{condition(corev1.NodeDiskPressure, corev1.ConditionFalse), condition(corev1.NodeReady, corev1.ConditionTrue)}, true},
	} {
		if err := isReady(&corev1.Node{Status: corev1.NodeStatus{Conditions: c.conditions}}); (err == nil) != c.want {
			t.Errorf("%s: %v", sentence, err)
		}
	}
}
