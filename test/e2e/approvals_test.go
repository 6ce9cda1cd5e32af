// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/policy/audit"
	"github.com/yuba-dev/yuba/internal/testkit/gittest"
)

func wants(count int32, groups ...string) func(*yubav1.PolicySpec) {
	return func(s *yubav1.PolicySpec) { s.Approvals = &yubav1.PolicyApprovals{Count: count, Groups: groups} }
}

// approveAs approves the pending plan of a stack as a user with groups.
func (y *yuba) approveAs(t *testing.T, obj *infrav1.Terraform, user string, groups ...string) error {
	t.Helper()
	config, _ := y.as(t, user, groups...)
	c, err := content.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	var seen infrav1.Terraform
	if err := y.client.Get(t.Context(), client.ObjectKeyFromObject(obj), &seen); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(patience)
	for {
		_, err = c.Approve(t.Context(), obj.Namespace, obj.Name, seen.Status.Plan.Pending, seen.Status.Plan.Policy.Bound)
		// A role binding takes effect a moment later.
		if !apierrors.IsForbidden(err) || user == "viewer" || time.Now().After(deadline) {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func considered(n int) func(*infrav1.Terraform) bool {
	return func(o *infrav1.Terraform) bool {
		return heldByPolicy(o) && int(o.Status.Plan.Policy.ApprovalsSeen) == n
	}
}

// entries reads the audit log of a stack as the command exports it.
func (y *yuba) entries(t *testing.T, obj *infrav1.Terraform) (list content.AuditList, told []string) {
	t.Helper()
	out := y.must(t, "audit", name(obj), "-o", "json")
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list.Chains) != 1 {
		t.Fatalf("%v: %s", err, out)
	}
	for _, e := range list.Chains[0].Items {
		r, err := e.Decode()
		if err != nil {
			t.Fatal(err)
		}
		told = append(told, strings.TrimSpace(fmt.Sprint(r.Kind, " ", r.Verdict, " ", r.Who.User)))
		if r.BoundDigest == "" || r.At.IsZero() || r.Who.Server == "" || r.Kind == audit.KindApproval && r.Who.Address == "" || r.Kind == audit.KindDecision && r.Bound.Plan == "" {
			t.Errorf("record %+v", r)
		}
	}
	return list, told
}

func TestTwoPeopleOfAGroupApproveAndTheLogSaysWho(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	y.policy(t, ns, "two", frees, wants(2, "sre"))
	for _, user := range []string{"ann", "bob", "eve"} {
		y.may(t, ns, user, "yuba:approver")
	}
	y.may(t, ns, "viewer", "view")
	count := func(n string) string { return "\noutput \"base\" { value = " + n + " }\n" }
	if err := y.client.Create(t.Context(), contract(ns, "base", "1.0.0", "number")); err != nil {
		t.Fatal(err)
	}
	obj := inline(ns, "vpc", both+count("2"), byPolicy, publishing("base", "1.0.0", "base"))
	y.create(t, obj)
	y.await(t, obj, "what the policy frees is applied", published("base", 1))
	change(t, y, obj, program(onlyOne+count("1")))
	seen := y.await(t, obj, "a destroy is held", heldByPolicy)
	plan := seen.Status.Plan.Pending
	if v := seen.Status.Plan.Policy; !v.NeedsRecordedApprovals || !strings.Contains(v.Message, "2 of 2 approvals by sre") {
		t.Errorf("verdict %+v", v)
	}
	// Whoever may only view, or names the plan in the object, approves nothing.
	if err := y.approveAs(t, obj, "viewer", "sre"); !apierrors.IsForbidden(err) {
		t.Errorf("a viewer approves: %v", err)
	}
	change(t, y, obj, func(o *infrav1.Terraform) { o.Annotations = map[string]string{infrav1.AnnotationApproved: plan} })
	if err := y.approveAs(t, obj, "ann", "sre"); err != nil {
		t.Fatal(err)
	}
	y.await(t, obj, "one approval is considered", considered(1))
	// The same person does not count twice, and somebody else does not count.
	if err := y.approveAs(t, obj, "ann", "sre"); err != nil {
		t.Fatal(err)
	}
	if err := y.approveAs(t, obj, "eve", "developers"); err != nil {
		t.Fatal(err)
	}
	seen = y.await(t, obj, "both are considered", considered(2))
	if message := condition(seen, infrav1.ConditionReady).Message; !strings.Contains(message, "1 of 2 approvals by sre") {
		t.Errorf("Ready says %q", message)
	}
	if out, news := y.do(t, "plan", name(obj)); !strings.Contains(out+news, "approved by ann") || !strings.Contains(out+news, "1 of 2 approvals by sre") {
		t.Errorf("yuba plan says %s%s", out, news)
	}
	if err := y.approveAs(t, obj, "bob", "sre", "oncall"); err != nil {
		t.Fatal(err)
	}
	done := y.await(t, obj, "it is applied and published", published("base", 2))
	if p, r := done.Status.Plan, done.Status.Contracts.Published[0]; p.LastApplied != plan || r.ApprovedBy != "ann, eve, bob" {
		t.Errorf("plan %s was applied, and revision %+v published", p.LastApplied, r)
	}
	list, told := y.entries(t, obj)
	// A decision that is the same as before is not recorded again.
	want := "decision Freed; apply Freed; decision Held; approval  ann; decision Held; approval  eve; approval  bob; decision Approved; apply Approved"
	if got := strings.Join(told, "; "); got != want {
		t.Errorf("the log says\n%s, want\n%s", got, want)
	}
	if out, news := y.do(t, "audit", "verify", name(obj)); !strings.Contains(out, ns+"/vpc: "+fmt.Sprint(len(told))+" records") {
		t.Errorf("verified: %s%s", out, news)
	}
	y.outlives(t, obj, list)
}

// outlives checks that the log stays after its stack, and that damage is found.
func (y *yuba) outlives(t *testing.T, obj *infrav1.Terraform, list content.AuditList) {
	t.Helper()
	export := filepath.Join(t.TempDir(), "audit.json")
	data, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(export, data, 0o600); err != nil {
		t.Fatal(err)
	}
	y.must(t, "audit", "verify", "-f", export)
	y.delete(t, obj)
	y.awaitGone(t, obj)
	if after, _ := y.entries(t, obj); len(after.Chains[0].Items) != len(list.Chains[0].Items) {
		t.Errorf("%d records after the deletion", len(after.Chains[0].Items))
	}
	y.must(t, "audit", "verify", name(obj), "--against", export)
	// Only its own right reads it.
	if _, news, code := y.run(t, "audit", name(obj), "--as", "ann"); code == 0 || !strings.Contains(news, "forbidden") {
		t.Errorf("an approver reads the log: %d %s", code, news)
	}
	y.may(t, obj.Namespace, "auditor", "yuba:auditor")
	y.await403(t, "audit", name(obj), "--as", "auditor")
	files, err := filepath.Glob(filepath.Join(y.dir, "*", "audit", obj.Namespace, obj.Name, "*"))
	if err != nil || len(files) != len(list.Chains[0].Items) {
		t.Fatalf("files %q, %v", files, err)
	}
	if err := os.Remove(files[len(files)-1]); err != nil {
		t.Fatal(err)
	}
	y.must(t, "audit", "verify", name(obj)) // a shorter chain is a chain
	if out, news, code := y.run(t, "audit", "verify", name(obj), "--against", export); code == 0 || !strings.Contains(out, "removed from the end") {
		t.Errorf("a log without its end: %d %s%s", code, out, news)
	}
	if err := os.WriteFile(files[2], []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, news, code := y.run(t, "audit", "verify", name(obj)); code == 0 || !strings.Contains(out, "record 3: it cannot be read") || !strings.Contains(news, "broken at 1 place") {
		t.Errorf("a damaged record: %d %s%s", code, out, news)
	}
}

// await403 repeats a command until a role binding has taken effect.
func (y *yuba) await403(t *testing.T, args ...string) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		_, news, code := y.run(t, args...)
		if code == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%v: %d %s", args, code, news)
		}
	}
}

// The command records an approval where a policy asks for one, and says how it stands.
func TestTheCommandRecordsAnApproval(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	y.policy(t, ns, "two", wants(2))
	obj := inline(ns, "vpc", both)
	y.create(t, obj)
	// Without a violation the usual approval is enough.
	y.await(t, obj, "its plan waits", waiting)
	y.must(t, "approve", name(obj))
	y.await(t, obj, "it is applied", applied)
	change(t, y, obj, program(onlyOne))
	seen := y.await(t, obj, "a destroy is held", heldByPolicy)
	plan := seen.Status.Plan.Pending
	// Naming the plan is not an approval that somebody gave.
	change(t, y, obj, func(o *infrav1.Terraform) { o.Spec.ApprovePlan = plan })
	if _, news := y.do(t, "approve", name(obj)); !strings.Contains(news, "is recorded") || !strings.Contains(news, "1 of 2 approvals") {
		t.Errorf("the first approval: %s", news)
	}
	manifest := filepath.Join(t.TempDir(), "vpc.yaml")
	if _, news, code := y.run(t, "approve", name(obj), "-f", manifest); code == 0 || !strings.Contains(news, "a manifest does not say who wrote it") {
		t.Errorf("in a manifest: %d %s", code, news)
	}
	if _, news, code := y.run(t, "approve", name(obj), "--wait"); code == 0 || !strings.Contains(news, "waits for other approvals") {
		t.Errorf("the same person again: %d %s", code, news)
	}
	y.may(t, ns, "bob", "yuba:approver")
	y.await403(t, "approve", name(obj), plan, "--as", "bob")
	y.await(t, obj, "it is applied", func(o *infrav1.Terraform) bool { return ready(o) && o.Status.Plan.LastApplied == plan })
}

// The author of the commit does not approve their own change.
func TestTheAuthorOfTheCommitDoesNotApproveIt(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	y.policy(t, ns, "four-eyes", frees, wants(1), func(s *yubav1.PolicySpec) { s.Approvals.NotAuthor = true })
	const author, other = "test@example.com", "ann@example.com" // gittest commits as the first
	for _, user := range []string{author, other} {
		y.may(t, ns, user, "yuba:approver")
	}
	repository := gittest.New(t).Repository(t, "four-eyes")
	repository.Commit(t, "one", gittest.Files{"main.tf": both})
	source := &sourcev1.GitRepository{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "program"}, Spec: sourcev1.GitRepositorySpec{URL: repository.URL(),
		Interval: metav1.Duration{Duration: time.Second}, Reference: &sourcev1.GitRepositoryRef{Branch: "main"}}}
	obj := inline(ns, "vpc", "", byPolicy)
	obj.Spec.Inline, obj.Spec.SourceRef = nil, &infrav1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: "program"}
	y.create(t, source, obj)
	y.await(t, obj, "what the policy frees is applied", applied)
	repository.Commit(t, "two", gittest.Files{"main.tf": onlyOne})
	seen := y.await(t, obj, "a destroy is held", heldByPolicy)
	if err := y.client.Get(t.Context(), client.ObjectKeyFromObject(source), source); err != nil || source.Status.Artifact.Metadata[infrav1.ArtifactAuthors] != author {
		t.Fatalf("the artifact names %v as authors, %v", source.Status.Artifact.Metadata, err)
	}
	if err := y.approveAs(t, obj, author); err != nil {
		t.Fatal(err)
	}
	now := y.await(t, obj, "the author's approval is considered, and does not count", considered(1))
	if message := condition(now, infrav1.ConditionReady).Message; !strings.Contains(message, "not by the change's author") {
		t.Errorf("Ready says %q", message)
	}
	if err := y.approveAs(t, obj, other); err != nil {
		t.Fatal(err)
	}
	y.await(t, obj, "it is applied", func(o *infrav1.Terraform) bool {
		return ready(o) && o.Status.Plan.LastApplied == seen.Status.Plan.Pending
	})
	// Together with a change of the object, nobody knows who made the change.
	change(t, y, obj, func(o *infrav1.Terraform) { o.Spec.Destroy = true })
	y.await(t, obj, "the destruction is held", func(o *infrav1.Terraform) bool { return heldByPolicy(o) && o.Status.Plan.IsDestroyPlan })
	if err := y.approveAs(t, obj, other); err != nil {
		t.Fatal(err)
	}
	y.await(t, obj, "one approval is not enough", func(o *infrav1.Terraform) bool {
		return containsAll(condition(o, infrav1.ConditionReady).Message, "1 of 2 approvals", "does not say who changed it")
	})
}
