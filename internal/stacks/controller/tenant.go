// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/kit/scope"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/inputs"
)

// madeByTemplate tells whether a Tenant has the stack: it owns it, or a label names it where no owner reference can.
func madeByTemplate(obj *infrav1.Terraform) bool {
	if obj.Labels[tenantv1.LabelTenant] != "" {
		return true
	}
	return slices.ContainsFunc(obj.OwnerReferences, func(ref metav1.OwnerReference) bool {
		gv, err := schema.ParseGroupVersion(ref.APIVersion)
		return err == nil && gv.Group == tenantv1.GroupVersion.Group && ref.Kind == tenantv1.TenantKind
	})
}

// inputOptions say how a stack's inputs are read.
func (r *Reconciler) inputOptions(obj *infrav1.Terraform) []inputs.Option {
	options := []inputs.Option{inputs.AllowCrossNamespace(r.AllowCrossNamespace), inputs.InScope(scope.Of(obj.Labels))}
	if _, inline := obj.InlineProgram(); inline && madeByTemplate(obj) {
		options = append(options, inputs.LendEnvironment(r.TenantEnvPrefixes))
	}
	return options
}

// setLent gives the environment what a template's author put into varsFrom for providers to find: an inline program
// declares variables for its own values, and would otherwise have to repeat those of its providers.
func (c *configuration) setLent(_ *infrav1.Terraform, in *inputs.Inputs) error {
	lent := in.Lent(func(name string) bool {
		return c.program.module.Variables[name] != nil ||
			slices.ContainsFunc(c.env, func(e run.EnvVar) bool { return e.Name == name })
	})
	if len(lent) == 0 {
		return nil
	}
	c.origins = maps.Clone(c.origins)
	if c.origins == nil {
		c.origins = map[string]string{}
	}
	for _, e := range lent {
		c.env = append(c.env, run.EnvVar{Name: e.Name, Value: e.Value.Reveal(), Secret: e.Secret})
		c.open["env "+e.Name] = e.Open
		c.lent = append(c.lent, e.Name, inputs.TypeOf(e.Name))
		c.origins["env "+e.Name] = c.origins[e.Name]
	}
	return nil
}

// readsStacks is the cache, where there is one.
func (r *Reconciler) readsStacks() client.Reader {
	if r.stacks == nil {
		return r.Reader
	}
	return r.stacks
}

// refusedState says why a stack may not have the state that it names. It may be another tenant's: workspace and suffix are the
// stack's to choose, and even its name may be one that another tenant's stack had. A state without a label is the stack's,
// for it was there before. What the watch has not told yet, the store refuses.
func (r *Reconciler) refusedState(ctx context.Context, obj *infrav1.Terraform) (*configProblem, error) {
	if obj.KeepsOwnState() {
		return nil, nil
	}
	key := stateKeyOf(obj)
	if err := key.Validate(); err != nil {
		return &configProblem{reason: infrav1.ReasonInvalidName, message: nameProblem(obj, err)}, nil
	}
	if problem := labelProblem(obj); problem != "" {
		return &configProblem{reason: infrav1.ReasonInvalidName, message: problem}, nil
	}
	if key.Scope == "" {
		return nil, nil
	}
	secret, err := stateMetadata(ctx, r.readsStacks(), obj)
	if secret == nil || err != nil {
		return nil, err
	}
	if err := key.Owned(secret.Labels); err != nil {
		return &configProblem{infrav1.ReasonAccessDenied, err.Error(), true}, nil
	}
	return nil, nil
}
