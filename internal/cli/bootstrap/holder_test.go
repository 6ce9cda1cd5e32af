// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
)

func TestStatusNamesThePlatformWithTheDNSName(t *testing.T) {
	platform := func(namespace, fqdn string, held metav1.ConditionStatus) yubav1.Platform {
		p := yubav1.Platform{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "acme", UID: types.UID(namespace)}}
		p.Spec.Domain.FQDN = fqdn
		p.Status.Conditions = []metav1.Condition{{Type: yubav1.ConditionDomainHeld, Status: held, LastTransitionTime: metav1.NewTime(time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC))}}
		return p
	}
	mine := platform("mine", "acme.example.org", metav1.ConditionFalse)
	others := []yubav1.Platform{mine, platform("third", "acme.example.org", metav1.ConditionFalse), platform("fourth", "other.example.org", metav1.ConditionTrue)}
	if says := holderAmong(&mine, others); says != "" {
		t.Errorf("nobody has it, and it says %q", says)
	}
	others = append(others, platform("theirs", "acme.example.org", metav1.ConditionTrue))
	if says := holderAmong(&mine, others); says != "theirs/acme has the DNS name since 2026-11-28T12:00:00Z" {
		t.Errorf("it says %q", says)
	}
}
