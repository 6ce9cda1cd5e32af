// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
)

// news is an event. Like conditions, it never has a value.
type news struct{ severity, reason, action, message string }

// maxNews limits the events of one pass: a contract may have a thousand producers.
const maxNews = 20

// newsOf are the events of a contract whose status has changed: its version, and its revisions.
func newsOf(before, after *yubav1.Contract) []news {
	var all []news
	was, is := conditions.Of(before, infrav1.ConditionReady), conditions.Of(after, infrav1.ConditionReady)
	switch {
	case is.Status == metav1.ConditionFalse && (was.Reason != is.Reason || was.Message != is.Message):
		all = append(all, news{corev1.EventTypeWarning, is.Reason, "Declare", is.Message})
	case is.Status == metav1.ConditionTrue && (was.Status != is.Status || len(after.Status.Versions) > len(before.Status.Versions)):
		all = append(all, news{corev1.EventTypeNormal, is.Reason, "Declare", is.Message})
	}
	for _, r := range after.Status.Revisions {
		if slices.ContainsFunc(before.Status.Revisions, func(b yubav1.ContractRevision) bool { return sameVersion(b, r) && b.Number == r.Number }) {
			continue
		}
		message := fmt.Sprintf("%s published %s %s, revision %d", r.Producer, after.Name, r.Version, r.Number)
		if r.ApprovedBy != "" {
			message += ", approved by " + r.ApprovedBy
		}
		all = append(all, news{corev1.EventTypeNormal, yubav1.ReasonRevisionPublished, "Publish", message})
	}
	for _, r := range before.Status.Revisions {
		if !slices.ContainsFunc(after.Status.Revisions, func(a yubav1.ContractRevision) bool { return sameVersion(a, r) }) {
			all = append(all, news{corev1.EventTypeNormal, yubav1.ReasonVersionRetired, "Retire",
				fmt.Sprintf("%s does not publish %s %s any more", r.Producer, after.Name, r.Version)})
		}
	}
	return all[:min(len(all), maxNews)]
}

func sameVersion(a, b yubav1.ContractRevision) bool {
	return a.Producer == b.Producer && a.Version == b.Version
}
