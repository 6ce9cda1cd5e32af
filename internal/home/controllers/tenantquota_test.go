// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAPersonsQuotaIsNotTheDefault(t *testing.T) {
	given := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: TenantQuotaName, Labels: map[string]string{labelDefaultQuota: "true"}}}
	named := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: TenantQuotaName}}
	copied := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "copied", Labels: given.Labels}}
	for sentence, test := range map[string]struct {
		quotas []*corev1.ResourceQuota
		ours   *corev1.ResourceQuota
		others bool
	}{
		"none":                             {},
		"the default":                      {[]*corev1.ResourceQuota{given}, given, false},
		"a person's of the default's name": {[]*corev1.ResourceQuota{named}, nil, true},
		"a copy of the default":            {[]*corev1.ResourceQuota{copied}, nil, true},
		"both":                             {[]*corev1.ResourceQuota{copied, given}, given, true},
	} {
		if ours, others := sides(test.quotas); ours != test.ours || others != test.others {
			t.Errorf("%s: %v, %v", sentence, ours, others)
		}
	}
}
