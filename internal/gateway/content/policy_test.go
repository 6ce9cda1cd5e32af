// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/policy/audit"
	"github.com/yuba-dev/yuba/internal/policy/ledger"
)

// The API server says who approves, and nothing in the request does.
func TestWhoApprovesIsWhomTheAPIServerKnows(t *testing.T) {
	s := newSite(t)
	editor := s.as("edit")
	eventually(t, func() error { // the API server learns of the role a little later
		given, err := editor.Approve(t.Context(), s.namespace, "vpc", "plan-1", "sha256:seen")
		if err == nil && given.User != "edit-of-"+s.namespace {
			t.Errorf("approved by %+v", given)
		}
		return err
	})
	known, _ := approvers.Load(types.NamespacedName{Namespace: s.namespace, Name: "vpc"})
	if who := known.(audit.Who); who.User != "edit-of-"+s.namespace || !slices.Contains(who.Groups, "system:authenticated") || who.Address != "127.0.0.1" ||
		who.Impersonator == "" || who.Impersonator == who.User { // the test acts as that user
		t.Errorf("approved by %+v", who)
	}
	_, err := editor.Approve(t.Context(), s.namespace, "vpc", "plan-2", "sha256:seen")
	checkStatus(t, err, http.StatusConflict, "it is not pending")
	_, err = editor.Approve(t.Context(), s.namespace, "gone", "plan-1", "sha256:seen")
	checkStatus(t, err, http.StatusNotFound, "not found")
}

func TestTheAuditLogOfAStackThatIsGone(t *testing.T) {
	s := newSite(t)
	l := &ledger.Ledger{Store: s.blobs, Server: "here"}
	for _, stack := range []string{"gone", "vpc"} {
		for _, verdict := range []string{"Held", "Freed"} {
			if _, err := l.Append(t.Context(), audit.Record{Namespace: s.namespace, Stack: stack, Kind: audit.KindDecision, At: time.Now(), Verdict: verdict}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for stack, want := range map[string]int{"gone": 1, "vpc": 1, "": 2} {
		list, err := s.as("").Audit(t.Context(), s.namespace, stack)
		if err != nil || len(list.Chains) != want {
			t.Fatalf("%q: %+v, %v", stack, list, err)
		}
		for _, c := range list.Chains {
			if problems := c.Verify(); len(problems) > 0 || len(c.Items) != 2 {
				t.Errorf("%s: %d records, %v", c.Stack, len(c.Items), problems)
			}
		}
	}
	// Pages of three records: the chain of vpc is in both.
	first, err := s.as("").AuditPage(t.Context(), s.namespace, "", "", 3)
	if err != nil || len(first.Chains) != 2 || len(first.Chains[1].Items) != 1 || first.Continue == "" {
		t.Fatalf("the first page: %+v, %v", first, err)
	}
	second, err := s.as("").AuditPage(t.Context(), s.namespace, "", first.Continue, 3)
	if err != nil || len(second.Chains) != 1 || second.Chains[0].Stack != "vpc" || len(second.Chains[0].Items) != 1 || second.Continue != "" {
		t.Errorf("the second page: %+v, %v", second, err)
	}
	if list, err := s.as("").Audit(t.Context(), s.namespace, "never"); err != nil || len(list.Chains) != 1 || len(list.Chains[0].Items) != 0 {
		t.Errorf("a stack without records: %+v, %v", list, err)
	}
	_, err = s.as("").Audit(t.Context(), "", "vpc")
	checkStatus(t, err, http.StatusBadRequest, "namespace")
}
