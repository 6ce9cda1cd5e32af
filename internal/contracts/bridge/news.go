// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
)

// news is an event. Like conditions, it never has a value.
type news struct{ severity, reason, message string }

// action is what events say a bridge did.
var action = map[yubav1.BridgeDirection]string{yubav1.BridgeOut: "Write", yubav1.BridgeIn: "Publish"}

// newsOf are the events of a pass: what it carried, what it replaced, and when it begins and ends to fail.
func newsOf(before, after *yubav1.ContractBridge, o outcome) []news {
	var all []news
	was, is := conditions.Of(before, infrav1.ConditionReady), conditions.Of(after, infrav1.ConditionReady)
	if o.replaced != "" {
		all = append(all, news{corev1.EventTypeNormal, yubav1.ReasonBridgeReplaced,
			fmt.Sprintf("Replaced a document of somebody else in %s, as spec.replace allows: %s", after.Status.Document, o.replaced)})
	}
	switch {
	case is.Status == metav1.ConditionTrue && fails(was.Reason):
		return append(all, news{corev1.EventTypeNormal, yubav1.ReasonBridgeRecovered, is.Message + "; before it was " + was.Reason})
	case is.Status == metav1.ConditionTrue && (was.Status != is.Status || before.Status.Revision != after.Status.Revision ||
		before.Status.Version != after.Status.Version || o.restored):
		return append(all, news{corev1.EventTypeNormal, is.Reason, is.Message})
	// What a store answers may differ each time, such as by the number of the request.
	case fails(is.Reason) && (was.Reason != is.Reason || was.Message != is.Message && is.Reason != yubav1.ReasonBridgeUnreachable):
		return append(all, news{corev1.EventTypeWarning, is.Reason, is.Message})
	case !fails(is.Reason) && is.Reason != was.Reason && was.Type != "":
		return append(all, news{corev1.EventTypeNormal, is.Reason, is.Message})
	}
	return all
}

// fails reports whether a reason needs somebody.
func fails(reason string) bool {
	switch reason {
	case yubav1.ReasonBridgeConflict, yubav1.ReasonBridgeMisfit, yubav1.ReasonBridgeGone, yubav1.ReasonBridgeUnreachable, yubav1.ReasonBridgeInvalid:
		return true
	}
	return false
}
