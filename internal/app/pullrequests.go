// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/objects/approval"
	"github.com/yuba-dev/yuba/internal/policy/audit"
	"github.com/yuba-dev/yuba/internal/pullrequests/comment"
	pullrequests "github.com/yuba-dev/yuba/internal/pullrequests/controller"
	"github.com/yuba-dev/yuba/internal/pullrequests/discover"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge/dial"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/speculative"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
	"github.com/yuba-dev/yuba/internal/verbs"
)

// addPullRequests adds the controller that plans pull requests. It runs beside Flux, too, which has
// no such kind. Call it after openMirrors.
func (e *engine) addPullRequests(ctx context.Context, direct client.Client) error {
	served, err := serves(e.manager.GetRESTMapper(), yubav1.GroupVersion.WithKind(yubav1.PullRequestPlannerKind))
	if err != nil {
		return err
	}
	if !served {
		e.opts.Log.Warn("this API does not serve the kind " + yubav1.PullRequestPlannerKind + ", so no pull requests are planned. " + installMissing)
		return nil
	}
	served, err = serves(e.manager.GetRESTMapper(), sourcev1.GroupVersion.WithKind(sourcev1.GitRepositoryKind))
	if err != nil || !served {
		return err // without GitRepositories there is nothing to follow
	}
	r := &pullrequests.Reconciler{Client: e.manager.GetClient(), Reader: direct, Events: e.events, Open: dial.Open,
		Sources: &pullSources{e.tries.sources, direct}, Plans: &pullPlans{e.tries}, Impact: &pullPlans{e.tries}, Owners: pullOwners, Approve: (&pullApprovals{e, direct}).approve,
		Store: pullRecords{e.blobs}, AllowCrossNamespace: e.opts.AllowCrossNamespace, Busy: e.breath.Voice(), Log: e.opts.Log.With("component", "pullrequests")}
	if err := r.SetupWithManager(ctx, e.manager); err != nil {
		return fmt.Errorf("set up the planners of pull requests: %w", err)
	}
	e.pullRequests = r
	return nil
}

// pullSources fetches the heads of pull requests, with all that their GitRepository says.
type pullSources struct {
	*previewSources
	api client.Client
}

func (p *pullSources) tree(ctx context.Context, digest string) (discover.Tree, error) {
	sums, config, err := p.programs.Listing(ctx, digest)
	return discover.Tree{Sums: sums, Config: config}, err
}

// Base implements [pullrequests.Sources].
func (p *pullSources) Base(ctx context.Context, repository *sourcev1.GitRepository) (*pullrequests.Source, error) {
	a, err := p.programs.Artifact(ctx, sourcev1.GitRepositoryKind, client.ObjectKeyFromObject(repository))
	if err != nil {
		return nil, err
	}
	tree, err := p.tree(ctx, a.Digest)
	return &pullrequests.Source{Digest: a.Digest, Revision: a.Revision, Size: a.Size, Tree: tree}, err
}

// Head implements [pullrequests.Sources]. A ref shows which commit it has only once it is asked for.
func (p *pullSources) Head(ctx context.Context, repository *sourcev1.GitRepository, pull forge.PullRequest) (*pullrequests.Source, error) {
	ref := pull.Ref
	switch {
	case ref != "":
	case !pull.Fork && pull.Head.Branch != "":
		ref = "refs/heads/" + pull.Head.Branch
	default:
		return nil, errors.New("this forge has no ref with the commits of forks, so they cannot be fetched")
	}
	at := repository.DeepCopy()
	at.Spec.Reference = &sourcev1.GitRepositoryRef{Name: ref}
	a, err := p.fetch(ctx, at, ref, nil)
	if err != nil {
		return nil, err
	}
	if !strings.Contains(a.Revision, pull.Head.Commit) {
		return nil, errors.Join(&pullrequests.MovedError{Want: pull.Head.Commit, Got: a.Revision}, p.remove(ctx, a))
	}
	return p.transient(ctx, a)
}

// transient is a source that is removed when it is closed.
func (p *pullSources) transient(ctx context.Context, a run.Artifact) (*pullrequests.Source, error) {
	tree, err := p.tree(ctx, a.Digest)
	if err != nil {
		return nil, errors.Join(err, p.remove(ctx, a))
	}
	return &pullrequests.Source{Digest: a.Digest, Revision: a.Revision, Size: a.Size, Tree: tree, Close: func(ctx context.Context) {
		if err := p.remove(ctx, a); err != nil {
			p.engine.opts.Log.Warn("cannot remove the source of a pull request", "digest", a.Digest, "error", err)
		}
	}}, nil
}

// pullPlans makes the plans of pull requests.
type pullPlans struct{ *tries }

// puller is the user of plans of pull requests.
const puller = "system:yuba:pull-requests"

// Plan implements [pullrequests.Plans].
func (p *pullPlans) Plan(ctx context.Context, name types.NamespacedName, s *pullrequests.Source, manifest []byte, as *pullrequests.Identity, trigger string) (pullrequests.Plan, error) {
	made, _, err := p.planWith(ctx, name, s, manifest, as, trigger, nil)
	return made, err
}

// planWith plans a stack with planned outputs of others, and returns its own for those that read them; nil if there is no
// plan.
func (p *pullPlans) planWith(ctx context.Context, name types.NamespacedName, s *pullrequests.Source, manifest []byte, as *pullrequests.Identity, trigger string, standIns []*speculative.Planned) (made pullrequests.Plan, planned *speculative.Planned, err error) {
	obj, err := p.stack(ctx, name, manifest)
	switch {
	case apierrors.IsNotFound(err):
		return made, nil, fmt.Errorf("the stack %s is gone", name)
	case err != nil:
		return made, nil, err
	}
	stack := run.StackOf(obj)
	request := speculative.Request{By: puller, Trigger: trigger, Kept: true, Detailed: true, Manifest: manifest, StandIns: standIns, Identity: speculativeAs(as)}
	if s != nil {
		request.Source = &run.Artifact{Digest: s.Digest, Size: s.Size, Revision: s.Revision, Transient: true}
	}
	answer, err := p.desk.Start(ctx, stack, request)
	for err == nil && !answer.Ended {
		answer, err = p.desk.Wait(ctx, stack, answer.Run)
	}
	if answer.Run != "" {
		defer p.end(context.WithoutCancel(ctx), stack, answer.Run)
	}
	if err != nil {
		return made, nil, err
	}
	if answer.Outcome == run.OutcomeSucceeded {
		planned, err = p.desk.Planned(stack, answer.Run, puller)
	}
	return p.made(stack, &answer), planned, err
}

// endPatience limits ending a plan.
const endPatience = 10 * time.Second

// end ends a plan that nobody waits for, and forgets one that has ended.
func (p *pullPlans) end(ctx context.Context, stack run.Stack, id string) {
	ctx, cancel := context.WithTimeout(ctx, endPatience)
	defer cancel()
	if err := p.desk.Cancel(ctx, stack, id); err != nil && !errors.Is(err, run.ErrNotFound) {
		p.engine.opts.Log.Debug("cannot end a plan of a pull request", "run", id, "error", err)
	}
}

// made translates an answer.
func (p *pullPlans) made(stack run.Stack, a *speculative.Answer) pullrequests.Plan {
	out := pullrequests.Plan{Digest: a.ChangesDigest, Inputs: a.Inputs, Outputs: len(a.Outputs), Reads: readsOf(a)}
	for _, n := range a.Needs {
		out.Needs = append(out.Needs, n.Input+" of "+n.Stack)
	}
	if a.Policy != nil {
		for _, f := range a.Policy.Findings {
			out.Verdicts = append(out.Verdicts, comment.Verdict{Policy: f.Policy, Message: strings.TrimSpace(f.Message + " " + f.Address), Refuses: f.Effect == string(yubav1.PolicyDeny)})
		}
		if a.Policy.Refused() && len(out.Verdicts) == 0 {
			out.Verdicts = []comment.Verdict{{Policy: "policies", Message: a.Policy.Message, Refuses: true}}
		}
	}
	out.Verdicts = append(out.Verdicts, brokenContracts(a)...)
	for _, d := range a.Problems.Errors() {
		out.Problems = append(out.Problems, comment.Problem{Summary: d.Summary, Detail: d.Detail, Path: d.File, Line: d.Line})
	}
	switch {
	case len(out.Needs) > 0:
		return out
	case a.Outcome != run.OutcomeSucceeded:
		if out.Error = strings.TrimSpace(a.Error); out.Error == "" {
			out.Error = "the plan was " + string(a.Outcome)
		}
		return out
	case len(a.Changes)+len(a.Outputs) == 0:
		return out
	}
	shown, err := p.shown(stack, a.Run)
	if err != nil {
		out.Text, out.Partial = "The plan is not shown: "+err.Error(), true
		out.Counts = comment.Counts{Add: a.Counts.Add, Change: a.Counts.Change, Destroy: a.Counts.Destroy, Import: a.Counts.Import, Forget: a.Counts.Forget}
		return out
	}
	out.Counts, out.Text, out.Partial = countsOf(shown), plan.Render(shown, plan.RenderOptions{}), shown.Omitted > 0
	return out
}

// shown is the plan without sensitive values.
func (p *pullPlans) shown(stack run.Stack, id string) (*plan.Plan, error) {
	document, err := p.desk.Document(stack, id, puller)
	if err != nil {
		return nil, err
	}
	return plan.Decode(document)
}

// countsOf counts the changes of a plan, with replacements apart.
func countsOf(p *plan.Plan) (c comment.Counts) {
	for i := range p.Changes {
		one := &p.Changes[i]
		switch one.Action {
		case plan.Create:
			c.Add++
		case plan.Update:
			c.Change++
		case plan.Replace:
			c.Replace++
		case plan.Delete:
			c.Destroy++
		case plan.Forget:
			c.Forget++
		default:
			if one.Previous != "" {
				c.Move++
			}
		}
		if one.Imports {
			c.Import++
		}
	}
	return c
}

// pullApprovals approves plans in the name of those who reviewed a pull request.
type pullApprovals struct {
	engine *engine
	direct client.Client
}

// approve implements [pullrequests.Reconciler.Approve]. Where policies ask for approvals, each reviewer's is recorded,
// as the user HOST/OWNER/NAME:ID of the group HOST/OWNER/NAME:members.
func (p *pullApprovals) approve(ctx context.Context, a pullrequests.Approval) error {
	var obj infrav1.Terraform
	if err := p.direct.Get(ctx, a.Stack, &obj); err != nil {
		return err
	}
	if _, err := verbs.Approvable(&obj, a.Plan); err != nil {
		return err
	}
	if obj.Status.Plan.RunID != a.Run {
		return fmt.Errorf("approve the plan %s of %s: the run %s has made it anew, and nobody has compared that with the reviewed one yet. It is compared in a moment", a.Plan, a.Stack, obj.Status.Plan.RunID)
	}
	if obj.NeedsRecordedApprovals() && a.Asked {
		return fmt.Errorf("approve the plan %s of %s: policies require an approval of people, and nobody but who asked for the apply gave one: review the pull request, or approve on the server", a.Plan, a.Stack)
	}
	if obj.NeedsRecordedApprovals() {
		for _, one := range a.By {
			if _, err := p.engine.policies.Approve(ctx, a.Stack, reviewer(a.Repository, one), a.Plan, obj.Status.Plan.Policy.Bound, a.Comment+", by "+one.Name); err != nil {
				return err
			}
		}
		return nil
	}
	names := make([]string, 0, len(a.By))
	for _, one := range a.By {
		names = append(names, one.ID+" ("+one.Name+")")
	}
	change, _ := verbs.Approve(&obj, a.Plan, time.Now())
	change, err := change.Decide(verbs.Decision{Plan: a.Plan, Verdict: verbs.Approved, By: a.Repository + ": " + strings.Join(names, ", "), At: time.Now(), Comment: a.Comment})
	if err != nil {
		return err
	}
	patch, err := json.Marshal(change.If(obj.ResourceVersion))
	if err != nil {
		return err
	}
	return p.direct.Patch(ctx, &obj, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(approval.Manager))
}

// reviewer is a member of a repository as a user. Names can be given to others, and every forge has its own.
func reviewer(repository string, u forge.User) audit.Who {
	return audit.Who{User: repository + ":" + u.ID, Groups: []string{repository + ":members"}}
}

// pullRecords keeps records of pull requests in the blob store.
type pullRecords struct{ *blob.Store }

// Get implements [pullrequests.Store].
func (p pullRecords) Get(ctx context.Context, key string, limit int64) ([]byte, error) {
	data, err := p.Store.Get(ctx, key, limit)
	var large *blob.TooLargeError
	if errors.As(err, &large) {
		err = &pullrequests.TooLargeError{Key: key}
	}
	return data, err
}

// Keys implements [pullrequests.Store].
func (p pullRecords) Keys(ctx context.Context, prefix string) (keys []string, err error) {
	for info, err := range p.List(ctx, prefix) {
		if err != nil {
			return nil, err
		}
		keys = append(keys, info.Key)
	}
	return keys, nil
}
