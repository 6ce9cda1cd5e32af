// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/archive"
	verdicts "github.com/yuba-dev/yuba/internal/policy/decide"
	"github.com/yuba-dev/yuba/internal/policy/facts"
	"github.com/yuba-dev/yuba/internal/policy/judge"
	"github.com/yuba-dev/yuba/internal/policy/ledger"
	"github.com/yuba-dev/yuba/internal/runs/run"
	stacks "github.com/yuba-dev/yuba/internal/stacks/controller"
)

// policies connects the stack controller with the policies: runs in, verdicts out.
type policies struct {
	judge *judge.Judge
	// lockFile reads the stack's recorded dependency lock file.
	lockFile func(ctx context.Context, stack run.Stack) ([]byte, error)
	now      func() time.Time
	// record reads a run; nil for none.
	record func(ctx context.Context, stack run.Stack, id string) (run.Record, error)
	// configurations are the facts of configurations before their plans.
	configurations configurations
	// ledger keeps the audit log. direct reads and writes the API without a cache.
	ledger *ledger.Ledger
	direct client.Client
	// programs have the files CODEOWNERS.
	programs programs
}

// addPolicies adds policies. Call it before adding the stack controller, which applies nothing
// without knowing them.
func (e *engine) addPolicies(r *stacks.Reconciler, direct client.Client) error {
	for _, kind := range []string{yubav1.PolicyKind, yubav1.ClusterPolicyKind} {
		served, err := serves(e.manager.GetRESTMapper(), yubav1.GroupVersion.WithKind(kind))
		if err != nil {
			return err
		}
		if !served {
			e.opts.Log.Warn("this API does not serve the kind " + kind + ", so plans are not judged by policies. " + installMissing)
			return nil
		}
	}
	j := &judge.Judge{Cache: e.manager.GetCache(), Evaluator: e.policyEvaluator()}
	keeper := &judge.Keeper{Judge: j, Client: e.manager.GetClient(), Subjects: e.policySubjects, Log: e.opts.Log, Events: e.events,
		Sources: e.policySources(r), SourceKinds: sourceKindsOf(e.sourceKinds),
		Wake: func(s judge.Subject) { e.wakeByName(types.NamespacedName{Namespace: s.Namespace, Name: s.Name}) }}
	if err := keeper.SetupWithManager(e.manager); err != nil {
		return err
	}
	e.policies = &policies{judge: j, lockFile: e.executor.LockFile, now: time.Now, ledger: e.auditLog, direct: direct,
		programs: programs{open: r.Source.Store.OpenArtifact, limits: archive.Limits{MaxPacked: e.opts.limits().ArchiveBytes}.WithDefaults()}}
	e.policies.record = e.executor.Record
	r.Policies = e.policies
	e.policyDesk = &policyDesk{policies: e.policies, runs: e.executor, stacks: e.manager.GetCache(), turn: make(chan struct{}, 1), evaluator: e.policyEvaluator()}
	return nil
}

// wakeByName reconciles a stack.
func (e *engine) wakeByName(name types.NamespacedName) {
	e.announce(run.Stack{Namespace: name.Namespace, Name: name.Name})
}

// policySubjects lists the stacks of a namespace, or all.
func (e *engine) policySubjects(ctx context.Context, namespace string) ([]judge.Subject, error) {
	var list infrav1.TerraformList
	if err := e.manager.GetCache().List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	all := make([]judge.Subject, 0, len(list.Items))
	for i := range list.Items {
		all = append(all, subjectOf(&list.Items[i]))
	}
	return all, nil
}

func subjectOf(obj *infrav1.Terraform) judge.Subject {
	return judge.Subject{Namespace: obj.Namespace, Name: obj.Name, Labels: obj.Labels}
}

// Bind implements [stacks.Policies].
func (p *policies) Bind(ctx context.Context, obj *infrav1.Terraform) (string, error) {
	binding, err := p.judge.Bind(ctx, subjectOf(obj))
	if err != nil {
		return "", err
	}
	return binding.Set, nil
}

// Judge implements [stacks.Policies].
func (p *policies) Judge(ctx context.Context, obj *infrav1.Terraform, rec run.Record, document []byte) (*infrav1.PolicyVerdict, error) {
	subject := subjectOf(obj)
	binding, err := p.judge.Bind(ctx, subject)
	if err != nil {
		return nil, err
	}
	in, err := p.inputs(ctx, obj, rec, document)
	if err != nil {
		return nil, err
	}
	end, err := p.turn(ctx, binding, subject)
	if err != nil {
		return nil, err
	}
	defer end()
	var about verdicts.Bound
	owners, note := p.ownersFor(ctx, binding, obj, rec, document)
	people := judge.People{Owners: owners, Approvals: approvalsOf(obj), About: func(b verdicts.Bound) { about = b }}
	if binding.AsksNotAuthor() {
		by := p.authorsOf(ctx, obj, rec)
		people.Authors, people.AuthorsUnknown = by.authors, by.unknown
	}
	limited, done := binding.With(people).Within(ctx)
	defer done()
	var decision verdicts.Decision
	if len(document) > 0 {
		decision = limited.Plan(subject, string(obj.UID), in, p.now())
	} else {
		decision = limited.Unread(subject, string(obj.UID), in, "the plan is too large to be judged by policies", p.now())
	}
	if end(); ctx.Err() != nil {
		return nil, fmt.Errorf("judge a plan of %s: %w", subject, ctx.Err())
	}
	verdict := verdictOf(decision)
	verdict.Set, verdict.Policies, verdict.Bound = binding.Set, binding.Policies(), decision.Bound
	addOwners(verdict, binding, owners, note, decision)
	return verdict, p.recordDecision(ctx, obj, rec, about, decision, verdict)
}

// foresee judges a plan that is never applied: without approvals, contracts and a record in the audit
// log. It returns nil if no policy binds the stack.
func (p *policies) foresee(ctx context.Context, obj *infrav1.Terraform, rec run.Record, document []byte) (*infrav1.PolicyVerdict, error) {
	obj = obj.DeepCopy()
	obj.Status.Plan = infrav1.PlanStatus{}
	subject := subjectOf(obj)
	binding, err := p.judge.Bind(ctx, subject)
	if err != nil || binding.Set == "" {
		return nil, err
	}
	in, err := p.inputs(ctx, obj, rec, document)
	if err != nil {
		return nil, err
	}
	end, err := p.turn(ctx, binding, subject)
	if err != nil {
		return nil, err
	}
	defer end()
	limited, done := binding.Within(ctx)
	defer done()
	var decision verdicts.Decision
	if len(document) > 0 {
		decision = limited.Plan(subject, string(obj.UID), in, p.now())
	} else {
		decision = limited.Unread(subject, string(obj.UID), in, "the plan is too large to be judged by policies", p.now())
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("judge a speculative plan of %s: %w", subject, ctx.Err())
	}
	return verdictOf(decision), nil
}

func (p *policies) inputs(ctx context.Context, obj *infrav1.Terraform, rec run.Record, document []byte) (facts.Inputs, error) {
	lockFile := rec.Spec.LockFile
	if rec.Result != nil && len(rec.Result.LockFile) > 0 {
		lockFile = rec.Result.LockFile
	}
	if len(lockFile) == 0 {
		var err error
		if lockFile, err = p.lockFile(ctx, rec.Spec.Stack); err != nil {
			return facts.Inputs{}, err
		}
	}
	in := facts.Inputs{Stage: facts.StagePlan, Show: document, LockFile: lockFile,
		Stack: stackFacts(obj),
		Run: facts.Run{ID: rec.Spec.ID, Purpose: string(rec.Spec.Purpose), PlannedAt: rec.Created, Revision: rec.Spec.Artifact.Revision,
			Destroy: rec.Spec.Destroy, Targets: rec.Spec.Targets},
		Contracts: contractFacts(obj), Revisions: pinnedRevisions(rec),
		Digests: facts.Digests{Plan: obj.Status.Plan.Digest, Source: rec.Spec.Artifact.Digest}}
	if rec.Result != nil {
		if err := addModules(&in, rec.Spec.ID, rec.Result.Uses); err != nil {
			return facts.Inputs{}, err
		}
	}
	if rec.Spec.Purpose == run.PurposeDrift {
		in.Stage = facts.StageDrift
	}
	if rec.StateMark != nil {
		in.Digests.StateSerial = int64(rec.StateMark.Serial) //nolint:gosec // serials count writes
		in.Digests.StateLineage = rec.StateMark.Lineage
	}
	return in, nil
}

// addModules adds what a run found out about the modules from elsewhere: it never takes the word of
// the program's source for that.
func addModules(in *facts.Inputs, id string, uses *run.Uses) error {
	if uses == nil {
		return nil
	}
	type module struct{ Key, Source, Version, Dir string }
	list := struct{ Modules []module }{[]module{}}
	in.ModuleDigests, in.ModulesBrought = map[string]string{}, map[string]bool{}
	for _, m := range uses.Modules {
		list.Modules = append(list.Modules, module{Key: m.Key, Source: m.Source, Version: m.Version})
		in.ModuleDigests[m.Key], in.ModulesBrought[m.Key] = m.Digest, m.Brought
	}
	var err error
	if in.ModuleList, err = json.Marshal(list); err != nil {
		return fmt.Errorf("write the list of modules of run %s: %w", id, err)
	}
	return nil
}

// maxFindings limits the findings in a status; the message counts the others.
const maxFindings = 50

// verdictOf translates a decision.
func verdictOf(d verdicts.Decision) *infrav1.PolicyVerdict {
	v := &infrav1.PolicyVerdict{Message: infrav1.TrimMessage(d.Message)}
	switch {
	case d.Outcome == verdicts.OutcomeApply && d.Reason == verdicts.ReasonApproved:
		v.Decision = infrav1.PolicyApproved
	case d.Outcome == verdicts.OutcomeApply:
		v.Decision = infrav1.PolicyFreed
	case d.Outcome == verdicts.OutcomeWait && d.Reason == verdicts.ReasonNotFreed:
		v.Decision = infrav1.PolicyPassed
	case d.Outcome == verdicts.OutcomeWait:
		v.Decision, v.NeedsRecordedApprovals = infrav1.PolicyHeld, d.NeedsRecorded()
		if v.NeedsRecordedApprovals {
			v.Message = infrav1.TrimMessage(waitingFor(d))
		}
	default:
		v.Decision = infrav1.PolicyRefused
	}
	for _, found := range d.Violations {
		v.Findings = append(v.Findings, findingOf(found, string(found.Effect)))
	}
	for _, found := range d.Audited {
		v.Findings = append(v.Findings, findingOf(found, string(yubav1.PolicyAudit)))
	}
	v.Findings = v.Findings[:min(len(v.Findings), maxFindings)]
	for _, e := range d.Exempted[:min(len(d.Exempted), maxFindings)] {
		v.Exempted = append(v.Exempted, infrav1.PolicyExempted{Policy: e.Policy, Rule: e.Rule, Address: e.Address,
			Message: infrav1.TrimMessage(e.Message), Reason: e.Reason, Expires: metav1.NewTime(e.Expires)})
	}
	for _, at := range []time.Time{d.ValidUntil, d.RetryAt} {
		if !at.IsZero() && (v.Until == nil || at.Before(v.Until.Time)) {
			v.Until = &metav1.Time{Time: at}
		}
	}
	return v
}

func findingOf(v verdicts.Violation, effect string) infrav1.PolicyFinding {
	return infrav1.PolicyFinding{Policy: v.Policy, Rule: v.Rule, Address: v.Address, Message: infrav1.TrimMessage(v.Message), Effect: effect}
}
