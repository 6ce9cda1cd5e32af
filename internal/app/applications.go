// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	applications "github.com/yuba-dev/yuba/internal/applications/controller"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/objects/approval"
	"github.com/yuba-dev/yuba/internal/policy/audit"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/stacks/reads"
	"github.com/yuba-dev/yuba/internal/verbs"
)

// addApplications adds the controllers of application kinds.
func (e *engine) addApplications(ctx context.Context, direct client.Client, sources *reads.Sources) error {
	if len(e.opts.Namespaces) > 0 {
		e.opts.Log.Info("application kinds are not served: they belong to no namespace, and this server works on some namespaces only")
		return nil
	}
	served, err := serves(e.manager.GetRESTMapper(), appv1.GroupVersion.WithKind(appv1.ApplicationDefinitionKind))
	if err != nil {
		return err
	}
	if !served {
		e.opts.Log.Warn("this API does not serve the kind " + appv1.ApplicationDefinitionKind + ", so no application kinds are served. " + installMissing)
		return nil
	}
	a := &applications.Applications{Client: e.manager.GetClient(), Reader: direct, Events: e.events, Now: time.Now, Log: e.opts.Log.With("component", "applications"),
		LoneServer: e.opts.LoneServer, Programs: definedPrograms{sources, e.registry.modules, e.ownModule}, SourceKinds: e.sourceKinds}
	if err := a.SetupWithManager(ctx, e.manager); err != nil {
		return fmt.Errorf("set up the controllers of applications: %w", err)
	}
	e.announceModules(ctx, a)
	e.applications = a
	return nil
}

// applicationDesk serves plans of instances, and approves them.
type applicationDesk struct {
	known    *applications.Applications
	direct   client.Client
	policies *policies
}

// serveApplications serves the plans of instances.
func (e *engine) serveApplications(direct client.Client) {
	if e.applications != nil {
		e.content.Applications = &applicationDesk{e.applications, direct, e.policies}
	}
}

// Stack implements [content.Applications].
func (d *applicationDesk) Stack(ctx context.Context, i content.Instance) (*infrav1.Terraform, error) {
	return d.known.Stack(ctx, i.Resource, types.NamespacedName{Namespace: i.Namespace, Name: i.Name}, i.Part)
}

// Approve implements [content.Applications]: as "yuba approve", with the server's rights to the stack.
// The API server has said that the person may approve plans of the kind.
func (d *applicationDesk) Approve(ctx context.Context, i content.Instance, who audit.Who, plan, comment string) error {
	shown := plan
	var err error
	if i.Part, plan, err = d.known.PlanOf(i.Resource, i.Part, plan); err != nil {
		return &run.RefusedError{Message: fmt.Sprintf("approve %s %s/%s: %v", i.Resource, i.Namespace, i.Name, err)}
	}
	obj, err := d.Stack(ctx, i)
	if err != nil {
		return err
	}
	name := client.ObjectKeyFromObject(obj)
	if _, err := verbs.Approvable(obj, plan); err != nil {
		return &run.RefusedError{Message: fmt.Sprintf("approve %s %s/%s: %v", i.Resource, i.Namespace, i.Name, err)}
	}
	if obj.NeedsRecordedApprovals() && d.policies != nil {
		if _, err := d.policies.Approve(ctx, name, who, plan, obj.Status.Plan.Policy.Bound, comment); err != nil {
			return err
		}
		d.known.Approved(i.Resource, types.NamespacedName{Namespace: i.Namespace, Name: i.Name}, shown, who.User)
		return nil
	}
	change, _ := verbs.Approve(obj, plan, time.Now())
	if change, err = change.Decide(verbs.Decision{Plan: plan, Verdict: verbs.Approved, By: who.User, At: time.Now(), Comment: comment}); err != nil {
		return err
	}
	patch, err := json.Marshal(change.If(obj.ResourceVersion))
	if err != nil {
		return err
	}
	// Somebody may have changed the stack: then the person has not seen what is pending now.
	if err := d.direct.Patch(ctx, obj, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(approval.Manager)); err != nil {
		return fmt.Errorf("approve plan %s of %s: %w", plan, name, err)
	}
	d.known.Approved(i.Resource, types.NamespacedName{Namespace: i.Namespace, Name: i.Name}, shown, who.User)
	return nil
}
