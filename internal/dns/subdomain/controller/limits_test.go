// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
)

var start = time.Unix(1_700_000_000, 0)

func claimOf(namespace, uid string, age time.Duration, phase yubav1.SubdomainPhase) yubav1.SubdomainClaim {
	return yubav1.SubdomainClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: uid, UID: types.UID(uid), CreationTimestamp: metav1.NewTime(start.Add(-age))},
		Status: yubav1.SubdomainClaimStatus{Phase: phase}}
}

func TestANamespaceHasALimit(t *testing.T) {
	pool := &yubav1.SubdomainPool{ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: "apps"}, Spec: yubav1.SubdomainPoolSpec{MaxClaimsPerNamespace: 2}}
	me := claimOf("team", "me", 0, "")
	held, older, newer := claimOf("team", "a", 0, yubav1.SubdomainCommitted), claimOf("team", "b", time.Hour, ""), claimOf("team", "c", -time.Hour, "")
	expired, foreign := claimOf("team", "d", time.Hour, yubav1.SubdomainExpired), claimOf("x", "e", time.Hour, yubav1.SubdomainCommitted)
	for name, test := range map[string]struct {
		me     yubav1.SubdomainClaim
		others []yubav1.SubdomainClaim
		refuse bool
	}{
		"one before it":                 {me, []yubav1.SubdomainClaim{held, me}, false},
		"two before it":                 {me, []yubav1.SubdomainClaim{held, older, me}, true},
		"newer ones do not count":       {me, []yubav1.SubdomainClaim{held, newer}, false},
		"expired ones do not count":     {me, []yubav1.SubdomainClaim{held, expired}, false},
		"other namespaces do not count": {me, []yubav1.SubdomainClaim{held, foreign}, false},
		"the pool's own namespace":      {claimOf("dns", "me", 0, ""), []yubav1.SubdomainClaim{claimOf("dns", "a", 1, "Reserved"), claimOf("dns", "b", 1, "Reserved")}, false},
	} {
		if err := allowed(&test.me, pool, test.others); (err != nil) != test.refuse {
			t.Errorf("%s: %v", name, err)
		}
	}
}
