// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
)

// news is an event about a policy.
type news struct{ severity, reason, action, message string }

// tell reports what has happened to a policy.
func (k *Keeper) tell(before, now object) {
	if k.Events == nil {
		return
	}
	for _, n := range newsOf(before, now) {
		reconciling.Event(k.Events, now, n.severity, n.reason, n.action, n.message)
	}
}

// newsOf are the events between two states of a policy: it can no longer be used, the last rules from a
// source that is gone stay in force, other rules are in force, or all is well again. A new policy that
// can be used is no news.
func newsOf(before, now object) (all []news) {
	was, is := conditions.Of(before, "Ready"), conditions.Of(now, "Ready")
	healthy := func(reason string) bool {
		return reason == "" || reason == yubav1.ReasonPolicyInForce || reason == yubav1.ReasonPolicyAudited
	}
	switch {
	case !healthy(is.Reason) && (was.Reason != is.Reason || was.Message != is.Message):
		all = append(all, news{corev1.EventTypeWarning, is.Reason, "Check", is.Message})
	case healthy(is.Reason) && !healthy(was.Reason):
		all = append(all, news{corev1.EventTypeNormal, yubav1.ReasonPolicyRecovered, "Check", "All rules can be used again: " + is.Message})
	}
	for _, b := range now.State().Bundles {
		for _, old := range before.State().Bundles {
			if old.Source == b.Source && old.Path == b.Path && old.Digest != b.Digest {
				all = append(all, news{corev1.EventTypeNormal, yubav1.ReasonPolicyBundleChanged, "Load",
					fmt.Sprintf("Rules of %s at %s are in force (%.19s); before, those at %s (%.19s)", b.Source, b.Revision, b.Digest, old.Revision, old.Digest)})
			}
		}
	}
	return all
}
