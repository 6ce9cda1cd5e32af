// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/applications/finding"
	"github.com/yuba-dev/yuba/internal/applications/revisions"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// Programs finds what programs declare that are not in definitions. An *[UnknownError] says why a program
// is not known; other errors are transient.
type Programs interface {
	// InSource finds the root module in a directory of a source.
	InSource(ctx context.Context, kind string, name types.NamespacedName, dir string) (*Program, error)
	// OfModule finds the version of a registry's module that a run would use.
	OfModule(ctx context.Context, source, versions string) (*Program, error)
}

// Program is what a program declares.
type Program struct {
	// Name is what people call it, with its revision or version.
	Name   string
	Module *module.Module
	// Problem says why no run can use it; empty if runs can.
	Problem string
}

// UnknownError says why nobody knows what a program declares.
type UnknownError struct {
	Message string
	// Never is true if the program is not to be known before it runs.
	Never bool
}

func (e *UnknownError) Error() string { return e.Message }

// recheckAfter is when a definition is compared again with a program whose changes may come without an
// event: those that other servers publish in the registry's bucket. The registry looks for them as often.
const recheckAfter = time.Minute

// verdict is the condition ProgramFits of a definition.
type verdict struct {
	status          metav1.ConditionStatus
	reason, message string
	warnings        finding.List
}

// compare compares the parsed definition with its program. A definition that does not fit is not used, and
// neither is a change whose program is not known yet. What was accepted before stays in force meanwhile.
func (p *defining) compare(ctx context.Context) {
	if !p.parsed.Elsewhere() || p.Programs == nil || !p.obj.DeletionTimestamp.IsZero() {
		conditions.Remove(p.obj, appv1.ConditionProgramFits)
		return
	}
	v := p.judge(ctx)
	conditions.Set(p.obj, appv1.ConditionProgramFits, v.status, v.reason, shorten.Fit(sentence(v.message), maxMessage))
	p.warnAll(v.warnings)
	switch v.reason {
	case appv1.ReasonProgramDiffers:
		p.reason, p.problem, p.parsed = v.reason, v.message, nil
	case appv1.ReasonProgramUnknown:
		if p.live == nil || p.theirs != "" || !revisions.Read(p.live.Annotations).Has(p.obj) {
			p.reason, p.problem, p.parsed, p.waits = v.reason, v.message, nil, true
		}
	}
}

// unused says that instances follow an older definition than theirs, because that does not fit its program.
func (p *defining) unused(k *kind) string {
	if k.parsed == nil || p.reason != appv1.ReasonProgramDiffers && p.reason != appv1.ReasonProgramUnknown {
		return ""
	}
	return fmt.Sprintf("The definition %s is not used as it is now (%s): yuba definition list says why.", p.obj.Name, p.reason)
}

// judge finds the program, and compares it.
func (p *defining) judge(ctx context.Context) verdict {
	program, err := p.find(ctx)
	var unknown *UnknownError
	switch {
	case errors.As(err, &unknown) && unknown.Never:
		return verdict{metav1.ConditionUnknown, appv1.ReasonProgramNotChecked, unknown.Message + ". Runs check its variables", nil}
	case err != nil:
		p.recheck = troubleAfter
		return verdict{metav1.ConditionUnknown, appv1.ReasonProgramUnknown, "the variables cannot be checked yet: " + err.Error(), nil}
	case program.Problem != "":
		return verdict{metav1.ConditionFalse, appv1.ReasonProgramDiffers, program.Name + " cannot be used: " + program.Problem, nil}
	}
	found := p.parsed.Against(program.Module)
	if bad := found.Of(finding.Error); len(bad) > 0 {
		return verdict{metav1.ConditionFalse, appv1.ReasonProgramDiffers, fmt.Sprintf("the definition does not fit %s: %s", program.Name, bad), nil}
	}
	return verdict{metav1.ConditionTrue, appv1.ReasonProgramFits, program.Name + " has all variables and outputs", found.Of(finding.Warning)}
}

func (p *defining) find(ctx context.Context) (*Program, error) {
	t := p.parsed.Terraform
	switch {
	case p.parsed.Joined():
		return nil, &UnknownError{Message: "files of Secrets become a part of the program (fileMappings in the template)", Never: true}
	case t.Module != "":
		p.recheck = recheckAfter
		source, versions, _ := strings.Cut(t.Module, "@")
		return p.Programs.OfModule(ctx, source, versions)
	case t.SourceRef.Namespace == "":
		return nil, &UnknownError{Message: "the source is in the namespace of each instance, because sourceRef has no namespace", Never: true}
	}
	return p.Programs.InSource(ctx, t.SourceRef.Kind, types.NamespacedName{Namespace: t.SourceRef.Namespace, Name: t.SourceRef.Name}, t.Path)
}

// sourceChanged requests passes over the definitions whose program is in a source.
func (a *Applications) sourceChanged(kind string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, source client.Object) []reconcile.Request {
		return a.definitions(ctx, func(t *appv1.TerraformBackend) bool {
			ref := t.SourceRef
			return ref != nil && ref.Kind == kind && ref.Name == source.GetName() && ref.Namespace == source.GetNamespace()
		})
	})
}

// ModuleChanged requests passes over the definitions whose program is a module of the registry that has a
// new version, or a version that changed.
func (a *Applications) ModuleChanged(ctx context.Context, is func(source string) bool) {
	for _, request := range a.definitions(ctx, func(t *appv1.TerraformBackend) bool {
		source, _, _ := strings.Cut(t.Module, "@")
		return source != "" && is(source)
	}) {
		a.defineQueue.Add(request, 0)
	}
}

// definitions are the definitions of stacks of which something is true.
func (a *Applications) definitions(ctx context.Context, are func(*appv1.TerraformBackend) bool) (requests []reconcile.Request) {
	var list appv1.ApplicationDefinitionList
	if err := a.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		a.Log.Error("cannot list the application definitions after a program changed; they are compared again later", "error", err)
	}
	for i := range list.Items {
		if b := list.Items[i].Spec.Backend; b != nil && b.Terraform != nil && are(b.Terraform) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return requests
}
