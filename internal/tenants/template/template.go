// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/moving"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
	"github.com/yuba-dev/yuba/internal/tenants/check"
	"github.com/yuba-dev/yuba/internal/tenants/decide"
	"github.com/yuba-dev/yuba/internal/tenants/passes"
)

// pass is the state of one pass over a template.
type pass struct {
	obj, before *tenantv1.TenantTemplate
	registry    *tenantv1.TenantRegistry
	// total and ready count the tenants.
	total, ready int
	// told are the findings of passes over the registry, held the deletion that waits there.
	told passes.Told
	held *decide.Hold
	next time.Time
}

// Reconcile makes one pass over a TenantTemplate. Package registry creates its tenants.
func (r *Controller) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	obj := &tenantv1.TenantTemplate{}
	if err := r.Fresh.Get(ctx, req.NamespacedName, obj); err != nil {
		if apierrors.IsNotFound(err) {
			r.verdicts.forget(req.NamespacedName)
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("read TenantTemplate %s: %w", req.NamespacedName, err)
	}
	p := &pass{obj: obj.DeepCopy(), before: obj.DeepCopy()}
	if moving.Held(obj) != "" {
		return ctrl.Result{}, r.leaveMoved(ctx, p)
	}
	if err := r.gather(ctx, p); err != nil {
		return ctrl.Result{}, err
	}
	// A template stays until its tenants are gone, so that users can look up their objects.
	if done, err := r.keep(ctx, p); done || err != nil {
		return reconciling.Again(client.IgnoreNotFound(err))
	}
	if p.obj.DeletionTimestamp.IsZero() {
		if err := r.validate(ctx, p); err != nil {
			return ctrl.Result{}, err
		}
	}
	r.describe(p)
	if err := r.patch(ctx, p); err != nil {
		return reconciling.Again(client.IgnoreNotFound(err))
	}
	return r.Until(p.next), nil
}

// leaveMoved leaves a template that another home works on alone. Its deletion waits for nothing.
func (r *Controller) leaveMoved(ctx context.Context, p *pass) error {
	if p.obj.DeletionTimestamp.IsZero() {
		passes.SetMoved(p.obj, tenantv1.ConditionApplied)
		return client.IgnoreNotFound(r.patch(ctx, p))
	}
	if !slices.Contains(p.obj.Finalizers, tenantv1.TemplateFinalizer) {
		return nil
	}
	kept := slices.DeleteFunc(slices.Clone(p.obj.Finalizers), func(f string) bool { return f == tenantv1.TemplateFinalizer })
	return client.IgnoreNotFound(r.SetFinalizers(ctx, p.obj, p.before, kept))
}

func (r *Controller) gather(ctx context.Context, p *pass) error {
	registry := &tenantv1.TenantRegistry{}
	switch err := r.Cached.Get(ctx, passes.RegistryOfTemplate(p.obj), registry); {
	case err == nil:
		p.registry = registry
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("look for TenantRegistry %s: %w", passes.RegistryOfTemplate(p.obj), err)
	}
	var tenants tenantv1.TenantList
	err := r.Cached.List(ctx, &tenants, client.InNamespace(p.obj.Namespace), client.MatchingFields{passes.IndexTemplate: p.obj.Namespace + "/" + p.obj.Name},
		client.UnsafeDisableDeepCopy)
	if err != nil {
		return fmt.Errorf("list the tenants of TenantTemplate %s/%s: %w", p.obj.Namespace, p.obj.Name, err)
	}
	p.told, p.held = r.findings.Told(passes.RegistryOfTemplate(p.obj), p.obj), r.findings.Held(passes.RegistryOfTemplate(p.obj))
	p.total = len(tenants.Items)
	for i := range tenants.Items {
		if passes.StandingOf(&tenants.Items[i]).Ready {
			p.ready++
		}
	}
	return nil
}

// keep adds the finalizer to a template with tenants, and removes it from a deleted one without.
// done means that the pass ends.
func (r *Controller) keep(ctx context.Context, p *pass) (done bool, err error) {
	has, going := slices.Contains(p.obj.Finalizers, tenantv1.TemplateFinalizer), !p.obj.DeletionTimestamp.IsZero()
	wanted := slices.Clone(p.before.Finalizers)
	switch {
	case !going && !has && p.total > 0:
		wanted = append(wanted, tenantv1.TemplateFinalizer)
	case going && has && p.total == 0:
		wanted = slices.DeleteFunc(wanted, func(f string) bool { return f == tenantv1.TemplateFinalizer })
	default:
		return going && !has, nil
	}
	return going, r.SetFinalizers(ctx, p.obj, p.before, wanted)
}

// invalidity is why a template is not valid.
func invalidity(t *tenantv1.TenantTemplate) string {
	if known(t) {
		return check.WithoutCode(conditions.Of(t, tenantv1.ConditionValid).Message)
	}
	return "it has not been checked yet"
}

// validate checks a changed template, or one that had mistakes.
func (r *Controller) validate(ctx context.Context, p *pass) error {
	name := client.ObjectKeyFromObject(p.obj)
	if passes.Validated(p.obj) {
		r.verdicts.forget(name)
		return nil
	}
	of := r.checkedOf(ctx, p)
	if due := r.verdicts.due(name, of); known(p.obj) && r.Now().Before(due) {
		p.next = due
		return nil
	}
	findings, err := r.examined(ctx, p)
	if err != nil && (ctx.Err() != nil || errors.Is(err, context.Canceled)) {
		return err // the server is stopping
	}
	was := apimeta.FindStatusCondition(p.before.Status.Conditions, tenantv1.ConditionValid)
	if err != nil {
		// An API does not answer.
		p.next = r.verdicts.unanswered(name, of, r.Now())
		passes.SetCondition(p.obj, tenantv1.ConditionValid, metav1.ConditionUnknown, tenantv1.ReasonValidationFailed, "it cannot be checked now: "+passes.OneLine(err.Error()))
		return nil
	}
	problems := check.Errors(findings)
	if len(problems) == 0 {
		r.verdicts.forget(name)
		message := "the template is valid"
		if n := len(check.Warnings(findings)); n > 0 {
			message = fmt.Sprintf("the template renders with %s:\n    yuba tenant render %s -n %s", decide.Count(n, "warning", "warnings"), p.obj.Name, p.obj.Namespace)
		}
		passes.SetCondition(p.obj, tenantv1.ConditionValid, metav1.ConditionTrue, tenantv1.ReasonValidationPassed, message)
		if was != nil && was.Status == metav1.ConditionFalse {
			r.Event(p.obj, corev1.EventTypeNormal, tenantv1.EventValidationPassed, message)
		}
		return nil
	}
	p.next = r.verdicts.mistaken(name, of, r.Now())
	message := check.Summary(findings)
	passes.SetCondition(p.obj, tenantv1.ConditionValid, metav1.ConditionFalse, tenantv1.ReasonValidationFailed, message)
	if was == nil || was.Message != message {
		r.Event(p.obj, corev1.EventTypeWarning, tenantv1.EventValidationFailed, message)
	}
	return nil
}

// longestCheck bounds one check of a template, because APIs may not answer.
const longestCheck = 2 * time.Minute

// examined returns the findings about a template.
func (r *Controller) examined(ctx context.Context, p *pass) ([]check.Finding, error) {
	bounded, cancel := context.WithTimeout(ctx, longestCheck)
	defer cancel()
	findings, err := r.examine(bounded, p.obj, p.registry)
	if err != nil && ctx.Err() == nil && bounded.Err() != nil {
		err = fmt.Errorf("it did not finish within %s", longestCheck)
	}
	return findings, err
}

// describe sets the status from the template's tenants.
func (r *Controller) describe(p *pass) {
	s := &p.obj.Status
	s.ObservedGeneration, s.TotalTenants, s.ReadyTenants = p.obj.Generation, int32(p.total), int32(p.ready) //nolint:gosec // tenants are bounded
	if rollout := p.told.Rollout; rollout != nil && rollout.TargetGeneration == p.obj.Generation {
		if was := s.Rollout; rollout.Phase == tenantv1.RolloutFailed && (was == nil || was.Phase != tenantv1.RolloutFailed) {
			r.Event(p.obj, corev1.EventTypeWarning, tenantv1.EventRolloutPaused, rollout.Message)
		} else if was != nil && rollout.Phase == tenantv1.RolloutComplete && (was.Phase == tenantv1.RolloutInProgress || was.Phase == tenantv1.RolloutFailed) {
			r.Event(p.obj, corev1.EventTypeNormal, tenantv1.EventRolloutComplete, rollout.Message)
		}
		s.Rollout = rollout.DeepCopy()
	}
	status, reason, message := applied(p, s.Rollout)
	unmade := unmadeText(p.told.Unmade)
	if unmade != "" && p.obj.DeletionTimestamp.IsZero() {
		status, reason = metav1.ConditionFalse, tenantv1.ReasonNotAllReady
		message += "; " + unmade
	}
	was := apimeta.FindStatusCondition(p.before.Status.Conditions, tenantv1.ConditionApplied)
	if p.told.UID == "" && p.registry != nil && was != nil && was.ObservedGeneration == p.obj.Generation && strings.Contains(was.Message, notMade) {
		return // After a restart the earlier findings are unknown.
	}
	switch {
	case was != nil && was.Reason == reason && was.Message == message:
	case reason == tenantv1.ReasonRegistryNotFound:
		r.Event(p.obj, corev1.EventTypeWarning, tenantv1.EventRegistryNotFound, message)
	case unmade != "" && (was == nil || !strings.Contains(was.Message, unmade)):
		r.Event(p.obj, corev1.EventTypeWarning, tenantv1.EventRenderFailed, unmade)
	}
	passes.SetCondition(p.obj, tenantv1.ConditionApplied, status, reason, message)
}

// notMade is part of the message of Applied if some tenants cannot be made.
const notMade = "cannot be created or changed"

// unmadeText names the first tenants that cannot be created or changed.
func unmadeText(unmade map[string]string) string {
	if len(unmade) == 0 {
		return ""
	}
	names := slices.Sorted(maps.Keys(unmade))
	parts := []string{decide.Count(len(names), "tenant", "tenants") + " " + notMade}
	for _, name := range names[:min(len(names), decide.Named)] {
		parts = append(parts, name+": "+unmade[name])
	}
	return strings.Join(parts, "; ")
}

// going says why a deleted template still exists.
func going(p *pass) string {
	message := fmt.Sprintf("the template will be deleted when %s gone", decide.Count(p.total, "tenant is", "tenants are"))
	h := p.held
	if p.total == 0 || h == nil || h.Confirmed || p.obj.Annotations[tenantv1.AnnotationConfirmDeletion] == string(p.obj.UID) {
		return message
	}
	how := fmt.Sprintf("    yuba tenant confirm %s -n %s", p.obj.Spec.RegistryID, p.obj.Namespace)
	if p.registry == nil {
		how = fmt.Sprintf("    yuba delete tenanttemplate %s -n %s", p.obj.Name, p.obj.Namespace)
	}
	return fmt.Sprintf("%s. They stay until this is confirmed: %s:\n%s\nTo keep them, delete only the template, then apply it again under the same name:\n"+
		"    kubectl patch tenanttemplate %s -n %s --type merge -p '{\"metadata\":{\"finalizers\":null}}'", message, h.Message, how, p.obj.Name, p.obj.Namespace)
}

// applied reports whether all tenants match the template.
func applied(p *pass, rollout *tenantv1.RolloutStatus) (metav1.ConditionStatus, string, string) {
	count := fmt.Sprintf("%d of %d tenants are ready", p.ready, p.total)
	decided := rollout != nil && rollout.TargetGeneration == p.obj.Generation
	switch {
	case !p.obj.DeletionTimestamp.IsZero():
		return metav1.ConditionFalse, tenantv1.ReasonTemplateDeleting, going(p)
	case p.registry == nil:
		return metav1.ConditionFalse, tenantv1.ReasonRegistryNotFound, fmt.Sprintf("TenantRegistry %s does not exist in the namespace %s; %s", p.obj.Spec.RegistryID, p.obj.Namespace, count)
	case !passes.Validated(p.obj):
		// Readers check this condition first, so it must not be True.
		return metav1.ConditionFalse, tenantv1.ReasonValidationFailed, "no tenant is created or changed until the template is valid: " + invalidity(p.obj) + "; " + count
	case !decided && p.told.Unread != "":
		return metav1.ConditionFalse, tenantv1.ReasonRegistryNotRead, fmt.Sprintf("no tenant has the current template, because the rows of TenantRegistry %s are unknown: %s; %s",
			p.obj.Spec.RegistryID, p.told.Unread, count)
	case !decided:
		return metav1.ConditionFalse, tenantv1.ReasonRolloutInProgress, "the tenants will get the current template; " + count
	case rollout.Phase == tenantv1.RolloutFailed:
		return metav1.ConditionFalse, tenantv1.ReasonRolloutPaused, rollout.Message
	case rollout.Phase == tenantv1.RolloutInProgress:
		return metav1.ConditionFalse, tenantv1.ReasonRolloutInProgress, rollout.Message
	case p.total == 0:
		return metav1.ConditionTrue, tenantv1.ReasonNoTenants, "no row is active"
	case p.ready < p.total:
		return metav1.ConditionFalse, tenantv1.ReasonNotAllReady, count
	}
	return metav1.ConditionTrue, tenantv1.ReasonAllTenantsReady, count
}

// patch writes a changed status.
func (r *Controller) patch(ctx context.Context, p *pass) error {
	if equality.Semantic.DeepEqual(p.obj.Status, p.before.Status) {
		return nil
	}
	if err := r.PatchStatus(ctx, p.before, p.obj); err != nil {
		return fmt.Errorf("write the status of TenantTemplate %s/%s: %w", p.obj.Namespace, p.obj.Name, err)
	}
	return nil
}
