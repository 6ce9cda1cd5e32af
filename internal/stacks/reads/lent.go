// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"context"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/kit/scope"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/inputs"
)

// madeByTemplate reports whether a Tenant made the stack: it owns it, or, in another namespace, a label names it.
func madeByTemplate(obj *infrav1.Terraform) bool {
	if obj.Labels[tenantv1.LabelTenant] != "" {
		return true
	}
	return slices.ContainsFunc(obj.OwnerReferences, func(ref metav1.OwnerReference) bool {
		gv, err := schema.ParseGroupVersion(ref.APIVersion)
		return err == nil && gv.Group == tenantv1.GroupVersion.Group && ref.Kind == tenantv1.TenantKind
	})
}

// Rules say what stacks may read.
type Rules struct {
	// AllowCrossNamespace lets sourceRef, dependsOn and cliConfigSecretRef name other namespaces.
	AllowCrossNamespace bool
	// TenantEnvPrefixes begin the keys of varsFrom that go into the environment of tenants' stacks when
	// their programs declare no such variable.
	TenantEnvPrefixes []string
}

// Resolve reads a stack's inputs.
func (r Rules) Resolve(ctx context.Context, from inputs.Getter, obj *infrav1.Terraform) (*inputs.Inputs, error) {
	options := []inputs.Option{inputs.AllowCrossNamespace(r.AllowCrossNamespace), inputs.InScope(scope.Of(obj.Labels))}
	if _, inline := obj.InlineProgram(); inline && madeByTemplate(obj) {
		options = append(options, inputs.LendEnvironment(r.TenantEnvPrefixes))
	}
	return inputs.Resolve(ctx, from, obj.Namespace, &obj.Spec, options...)
}

// setLent passes values of varsFrom that are meant for providers through the environment. Without it, the
// inline program of a template would have to declare a variable for each of them.
func (c *Configuration) setLent(_ *infrav1.Terraform, in *inputs.Inputs) error {
	lent := in.Lent(func(name string) bool {
		return c.program.module.Variables[name] != nil ||
			slices.ContainsFunc(c.env, func(e run.EnvVar) bool { return e.Name == name })
	})
	if len(lent) == 0 {
		return nil
	}
	c.Origins = maps.Clone(c.Origins)
	if c.Origins == nil {
		c.Origins = map[string]string{}
	}
	for _, e := range lent {
		c.env = append(c.env, run.EnvVar{Name: e.Name, Value: e.Value.Reveal(), Secret: e.Secret})
		c.open["env "+e.Name] = e.Open
		c.lent = append(c.lent, e.Name, inputs.TypeOf(e.Name))
		c.Origins["env "+e.Name] = c.Origins[e.Name]
	}
	return nil
}
