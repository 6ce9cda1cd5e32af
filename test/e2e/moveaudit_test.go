// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/policy/audit"
)

// The log in the new home names the end of that in the old one, and an export of the old one proves that
// both are one.
func TestTheAuditLogContinuesInAnotherHome(t *testing.T) {
	t.Parallel()
	m := newMovers(t)
	const ns = "audited"
	m.a.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}})
	m.a.policy(t, ns, "safe", frees)
	obj := inline(ns, "vpc", both, byPolicy)
	m.a.create(t, obj)
	m.a.await(t, obj, "it is applied", applied)
	move(t, m.a, m.b, "-n", ns)
	export := filepath.Join(t.TempDir(), "before.json")
	before := m.a.must(t, "audit", "-n", ns, "-o", "json")
	if err := os.WriteFile(export, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	var old content.AuditList
	if err := json.Unmarshal([]byte(before), &old); err != nil || len(old.Chains) != 1 {
		t.Fatalf("%+v, %v", old, err)
	}
	var now content.AuditList
	if err := json.Unmarshal([]byte(m.b.must(t, "audit", "-n", ns, "-o", "json")), &now); err != nil || len(now.Chains) != 1 {
		t.Fatalf("%+v, %v", now, err)
	}
	first, err := now.Chains[0].Items[0].Decode()
	if err != nil || first.Kind != audit.KindMoved || first.Origin == nil || first.Origin.Head != old.Chains[0].Head() || first.Who.User == "" {
		t.Fatalf("the first record is %+v, %v", first, err)
	}
	for _, args := range [][]string{{"audit", "verify", "-n", ns}, {"audit", "verify", "-n", ns, "--against", export}} {
		if _, news, code := m.b.run(t, args...); code != 0 || !strings.Contains(news, "The audit log is whole") {
			t.Errorf("%q: %d %s", args, code, news)
		}
	}
	// An export that was cut does not prove it.
	old.Chains[0].Items = old.Chains[0].Items[:1]
	cut, err := json.Marshal(old)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(export, cut, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, _, code := m.b.run(t, "audit", "verify", "-n", ns, "--against", export); code == 0 || !strings.Contains(out, "the log continues that of") {
		t.Errorf("a cut export: %d %s", code, out)
	}
}
