// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
)

// Two resources, and one of them.
const (
	both    = "resource \"terraform_data\" \"a\" { input = \"a\" }\nresource \"terraform_data\" \"b\" { input = \"b\" }\n"
	onlyOne = "resource \"terraform_data\" \"a\" { input = \"a\" }\n"
)

func byPolicy(o *infrav1.Terraform) { o.Spec.ApprovePlan = infrav1.ApprovePlanPolicy }

func program(hcl string) func(*infrav1.Terraform) {
	return func(o *infrav1.Terraform) { o.Spec.Inline = map[string]string{"main.tf": hcl} }
}

// policySpec has the rule no-destroy.
func policySpec(change ...func(*yubav1.PolicySpec)) yubav1.PolicySpec {
	spec := yubav1.PolicySpec{Rules: []yubav1.PolicyRule{{Builtin: "no-destroy"}}}
	for _, c := range change {
		c(&spec)
	}
	return spec
}

func frees(s *yubav1.PolicySpec)  { s.AutoApprove = true }
func denies(s *yubav1.PolicySpec) { s.OnViolation = yubav1.PolicyDeny }
func audits(s *yubav1.PolicySpec) { s.Enforcement = yubav1.PolicyAudit }

// policy makes a policy of the namespace, and waits until it is in force.
func (y *yuba) policy(t *testing.T, namespace, name string, change ...func(*yubav1.PolicySpec)) *yubav1.Policy {
	t.Helper()
	p := &yubav1.Policy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: policySpec(change...)}
	y.create(t, p)
	y.observed(t, p)
	return p
}

// observed waits until the server has seen a policy's spec: its cache has it then.
func (y *yuba) observed(t *testing.T, p interface {
	client.Object
	State() *yubav1.PolicyStatus
}) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for time.Now().Before(deadline) {
		if err := y.client.Get(t.Context(), client.ObjectKeyFromObject(p), p); err != nil {
			t.Fatal(err)
		}
		if p.State().ObservedGeneration == p.GetGeneration() && len(p.State().Conditions) > 0 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("policy %s was not observed: %+v", p.GetName(), p.State())
}

func applied(o *infrav1.Terraform) bool { return ready(o) && o.Status.LastAppliedRevision != "" }

func heldByPolicy(o *infrav1.Terraform) bool {
	return waiting(o) && o.Status.CurrentRun == nil && o.Status.Plan.Policy != nil && o.Status.Plan.Policy.Decision == infrav1.PolicyHeld &&
		strings.Contains(condition(o, infrav1.ConditionReady).Message, "waits for approval")
}

func refusedByPolicy(o *infrav1.Terraform) bool {
	return condition(o, infrav1.ConditionReady).Reason == infrav1.ReasonPolicyRefused && o.Status.CurrentRun == nil
}

func TestAPlanThatPoliciesFreeIsAppliedAndADestroyIsHeldByItsAddress(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	y.policy(t, ns, "safe", frees)
	obj := inline(ns, "freed", both, byPolicy)
	y.create(t, obj)
	y.await(t, obj, "a plan that the policy frees applies itself", applied)
	change(t, y, obj, program(onlyOne))
	seen := y.await(t, obj, "a plan that destroys is held", heldByPolicy)
	if message := condition(seen, infrav1.ConditionReady).Message; !strings.Contains(message, "terraform_data.b") || !strings.Contains(message, "yuba approve freed") {
		t.Errorf("Ready says %q", message)
	}
	v := seen.Status.Plan.Policy
	if len(v.Findings) != 1 || v.Findings[0].Address != "terraform_data.b" || v.Findings[0].Policy != "Policy/"+ns+"/safe" || v.AuditRecord == "" || v.Bound == "" {
		t.Errorf("verdict %+v", v)
	}
	deadline := time.Now().Add(patience)
	for !slices.ContainsFunc(y.events(t, obj), func(e string) bool { return strings.Contains(e, "terraform_data.b") }) {
		if time.Now().After(deadline) {
			t.Fatalf("no event names the address: %q", y.events(t, obj))
		}
		time.Sleep(50 * time.Millisecond)
	}
	// A person approves by name what the policy holds.
	y.must(t, "approve", name(obj), seen.Status.Plan.Pending)
	y.await(t, obj, "the approved plan is applied", func(o *infrav1.Terraform) bool {
		return ready(o) && o.Status.Plan.LastApplied == seen.Status.Plan.Pending
	})
	if got := y.resources(t, obj); got != 1 {
		t.Errorf("%d resources are left", got)
	}
}

func TestWhatAPolicyDeniesNobodyApproves(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	p := y.policy(t, ns, "strict", denies)
	obj := inline(ns, "denied", both, auto)
	y.create(t, obj)
	y.await(t, obj, "what the policy allows is applied", applied)
	change(t, y, obj, program(onlyOne))
	seen := y.await(t, obj, "a plan that destroys is refused", refusedByPolicy)
	if message := condition(seen, infrav1.ConditionReady).Message; !strings.Contains(message, "terraform_data.b") || !strings.Contains(message, "exemption") {
		t.Errorf("Ready says %q", message)
	}
	if _, news, code := y.run(t, "approve", name(obj)); code == 0 || !strings.Contains(news, "no approval overrides that") || !strings.Contains(news, "exemption") {
		t.Errorf("approve: %d %s", code, news)
	}
	// Nor does naming the plan, or force.
	change(t, y, obj, func(o *infrav1.Terraform) {
		o.Spec.ApprovePlan, o.Spec.Force = seen.Status.Plan.Pending, true
	})
	y.await(t, obj, "it is still refused", func(o *infrav1.Terraform) bool {
		return refusedByPolicy(o) && o.Status.ObservedGeneration == o.Generation
	})
	if got := y.resources(t, obj); got != 2 {
		t.Fatalf("%d resources are left", got)
	}
	// This is how to go on.
	change(t, y, p, func(p *yubav1.Policy) {
		p.Spec.Exemptions = []yubav1.PolicyExemption{{Addresses: []string{"terraform_data.b"}, Reason: "it moved", Expires: metav1.NewTime(time.Now().Add(time.Hour))}}
	})
	y.await(t, obj, "what is exempt is applied", func(o *infrav1.Terraform) bool {
		return ready(o) && o.Status.Plan.LastApplied == seen.Status.Plan.Pending
	})
	if got := y.resources(t, obj); got != 1 {
		t.Errorf("%d resources are left", got)
	}
}

func TestARuleThatDoesNotExistLetsNothingPass(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	p := y.policy(t, ns, "typo", frees, func(s *yubav1.PolicySpec) { s.Rules[0].Builtin = "no-destroi" })
	if c := apimeta.FindStatusCondition(p.Status.Conditions, "Ready"); c == nil || c.Reason != yubav1.ReasonPolicyInvalid || !strings.Contains(c.Message, "no-destroi") {
		t.Errorf("the policy says %+v", c)
	}
	obj := inline(ns, "held", onlyOne, byPolicy)
	y.create(t, obj)
	seen := y.await(t, obj, "its plan is held", heldByPolicy)
	if message := condition(seen, infrav1.ConditionReady).Message; !strings.Contains(message, "no-destroi") {
		t.Errorf("Ready says %q", message)
	}
	change(t, y, p, func(p *yubav1.Policy) { p.Spec.Rules[0].Builtin = "no-destroy" })
	y.await(t, obj, "it is applied once the policy is right", applied)
}

// An apply that is decided but has not begun asks the policies once more.
func TestAPolicyBetweenJudgementAndApplyStopsTheApply(t *testing.T) {
	y := alone(t, "--concurrency", "1")
	ns := y.namespace(t)
	changed := y.policy(t, ns, "changed", func(s *yubav1.PolicySpec) { s.Selector.MatchLabels = map[string]string{"judged": "yes"} })
	labeled := func(o *infrav1.Terraform) { o.Labels = map[string]string{"judged": "yes"} }
	bound, unbound := inline(ns, "bound", both, labeled), inline(ns, "unbound", both)
	for _, obj := range []*infrav1.Terraform{bound, unbound} {
		y.create(t, obj)
		y.await(t, obj, "its plan waits", waiting)
		approve(t, y, obj)
		y.await(t, obj, "it is applied", applied)
		change(t, y, obj, program(onlyOne))
		change(t, y, obj, manual)
	}
	first := y.await(t, bound, "its plan is held", heldByPolicy).Status.Plan.Pending
	second := y.await(t, unbound, "its plan waits", func(o *infrav1.Terraform) bool { return waiting(o) && o.Status.CurrentRun == nil }).Status.Plan.Pending
	// The only place is taken.
	busy := inline(ns, "busy", gated, auto)
	y.create(t, busy)
	reached, open := y.gate(busy)
	awaitFile(t, reached)
	for obj, plan := range map[*infrav1.Terraform]string{bound: first, unbound: second} {
		change(t, y, obj, func(o *infrav1.Terraform) { o.Spec.ApprovePlan = plan })
		y.await(t, obj, "its apply is queued", func(o *infrav1.Terraform) bool {
			return o.Status.CurrentRun != nil && o.Status.CurrentRun.Operation == "apply"
		})
	}
	change(t, y, changed, func(p *yubav1.Policy) { p.Spec.OnViolation = yubav1.PolicyDeny })
	y.observed(t, changed)
	y.policy(t, ns, "added", denies, func(s *yubav1.PolicySpec) {
		s.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "judged", Operator: metav1.LabelSelectorOpDoesNotExist}}
	})
	touch(t, open)
	for _, obj := range []*infrav1.Terraform{bound, unbound} {
		y.await(t, obj, "the apply is stopped, and the plan refused", refusedByPolicy)
		if got := y.resources(t, obj); got != 2 {
			t.Errorf("%s has %d resources", obj.Name, got)
		}
	}
}

// as is a client of a user with groups, as the API server sees one after authentication.
func (y *yuba) as(t *testing.T, user string, groups ...string) (*rest.Config, client.Client) {
	t.Helper()
	config, err := kubetest.Config(y.kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	config = rest.CopyConfig(config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: append(groups, "system:authenticated")}
	c, err := client.New(config, client.Options{Scheme: y.client.Scheme(), Mapper: y.client.RESTMapper()})
	if err != nil {
		t.Fatal(err)
	}
	return config, c
}

// may gives a user a role in a namespace.
func (y *yuba) may(t *testing.T, namespace, user, role string) {
	t.Helper()
	y.create(t, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "may-"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role}})
}

func TestATenantCannotRemoveTheClusterPolicyThatBindsIt(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	space := namespaceObject(ns)
	change(t, y, space, func(n *corev1.Namespace) {
		if n.Labels == nil {
			n.Labels = map[string]string{}
		}
		n.Labels["bound-by"] = ns
	})
	all := &yubav1.ClusterPolicy{ObjectMeta: metav1.ObjectMeta{Name: "all-" + ns}, Spec: yubav1.ClusterPolicySpec{PolicySpec: policySpec(denies),
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"bound-by": ns}}}}
	y.create(t, all)
	t.Cleanup(func() { y.client.Delete(context.WithoutCancel(t.Context()), all) }) //nolint:errcheck // it selects this namespace only
	y.observed(t, all)
	y.may(t, ns, "tenant", "admin")
	_, tenant := y.as(t, "tenant")
	obj := inline(ns, "bound", both, auto)
	deadline := time.Now().Add(patience)
	for err := tenant.Create(t.Context(), obj); err != nil; err = tenant.Create(t.Context(), obj) {
		if !apierrors.IsForbidden(err) || time.Now().After(deadline) { // the binding takes effect a moment later
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	y.await(t, obj, "what the policy allows is applied", applied)
	for what, try := range map[string]func() error{
		"delete the policy": func() error { return tenant.Delete(t.Context(), all.DeepCopy()) },
		"change the policy": func() error {
			return tenant.Patch(t.Context(), all.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"enforcement":"audit"}}`)))
		},
		"relabel the namespace": func() error {
			return tenant.Patch(t.Context(), namespaceObject(ns), client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"bound-by":null}}}`)))
		},
		"write a verdict": func() error {
			return tenant.Status().Patch(t.Context(), obj.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(`{"status":{"plan":{"policy":null}}}`)))
		},
	} {
		if err := try(); !apierrors.IsForbidden(err) {
			t.Errorf("a tenant may %s: %v", what, err)
		}
	}
	// Its own policy adds nothing to what it may do.
	own := &yubav1.Policy{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "own"}, Spec: policySpec(audits, frees)}
	if err := tenant.Create(t.Context(), own); err != nil {
		t.Fatal(err)
	}
	y.observed(t, own)
	change(t, y, obj, program(onlyOne))
	y.await(t, obj, "the destroy is refused", refusedByPolicy)
}

func TestAPolicyInAuditModeStopsNothingAndIsShown(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	y.policy(t, ns, "trial", denies, audits)
	obj := inline(ns, "tried", both)
	y.create(t, obj)
	y.await(t, obj, "its plan waits", waiting)
	approve(t, y, obj)
	y.await(t, obj, "it is applied", applied)
	change(t, y, obj, program(onlyOne))
	change(t, y, obj, manual)
	seen := y.await(t, obj, "its plan waits for the usual approval", func(o *infrav1.Terraform) bool {
		return waiting(o) && o.Status.CurrentRun == nil && o.Status.Plan.Policy != nil && o.Status.Plan.Policy.Decision == infrav1.PolicyPassed
	})
	if f := seen.Status.Plan.Policy.Findings; len(f) != 1 || f[0].Effect != "audit" || f[0].Address != "terraform_data.b" {
		t.Errorf("findings %+v", f)
	}
	if out, news := y.do(t, "plan", name(obj)); !strings.Contains(out+news, "no-destroy (audit): terraform_data.b") {
		t.Errorf("yuba plan says %s%s", out, news)
	}
	y.must(t, "approve", name(obj))
	y.await(t, obj, "it is applied", func(o *infrav1.Terraform) bool {
		return ready(o) && o.Status.Plan.LastApplied == seen.Status.Plan.Pending
	})
}

// A provisioner is in no change of a plan, so the approving change could bring one.
func TestTheApprovalOfAPlanDoesNotCoverWhatPoliciesFindLater(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	y.policy(t, ns, "safe", frees, func(s *yubav1.PolicySpec) { s.Rules = append(s.Rules, yubav1.PolicyRule{Builtin: "no-provisioners"}) })
	obj := inline(ns, "app", both, byPolicy)
	y.create(t, obj)
	y.await(t, obj, "what the policy frees is applied", applied)
	change(t, y, obj, program(onlyOne))
	change(t, y, obj, manual)
	seen := y.await(t, obj, "a destroy is held", heldByPolicy).Status.Plan
	change(t, y, obj, func(o *infrav1.Terraform) {
		program("resource \"terraform_data\" \"a\" {\n  input = \"a\"\n  provisioner \"local-exec\" { command = \"true\" }\n}\n")(o)
		o.Spec.ApprovePlan = seen.Pending
	})
	now := y.await(t, obj, "the plan with a provisioner is held under another id", func(o *infrav1.Terraform) bool {
		return heldByPolicy(o) && o.Status.Plan.Pending != seen.Pending
	}).Status.Plan
	provisioner := func(f infrav1.PolicyFinding) bool {
		return f.Rule == "no-provisioners" && f.Address == "terraform_data.a"
	}
	if now.ChangesDigest != seen.ChangesDigest || !slices.ContainsFunc(now.Policy.Findings, provisioner) {
		t.Errorf("the changes are %s and %s, the findings now %+v", seen.ChangesDigest, now.ChangesDigest, now.Policy.Findings)
	}
	change(t, y, obj, func(o *infrav1.Terraform) { o.Spec.ApprovePlan = now.Pending })
	y.await(t, obj, "it is applied with another approval", func(o *infrav1.Terraform) bool { return ready(o) && o.Status.Plan.LastApplied == now.Pending })
}

func TestAPolicyInAuditModeDoesNotHoldATargetedPlan(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	y.policy(t, ns, "trial", denies, audits)
	obj := inline(ns, "targeted", both, auto, func(o *infrav1.Terraform) { o.Spec.Targets = []string{"terraform_data.a"} })
	y.create(t, obj)
	y.await(t, obj, "it is applied", applied)
	// The same policy holds the next plan once it is enforced.
	y.policy(t, ns, "enforced", denies)
	change(t, y, obj, func(o *infrav1.Terraform) { o.Spec.Targets = []string{"terraform_data.b"} })
	y.await(t, obj, "its plan is held", heldByPolicy)
}
