// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/yamltext"
	"github.com/yuba-dev/yuba/internal/policy/rego"
)

// Definition is a policy that need not be in an API: of a file, or as somebody read it.
type Definition struct {
	// Namespace is empty for a ClusterPolicy.
	Kind, Namespace, Name string
	// Spec is the part that both kinds have. It must not be changed.
	Spec *yubav1.PolicySpec

	namespaces *metav1.LabelSelector
	policy     *policy
}

// IsPolicy reports whether a document in YAML or JSON is a Policy or a ClusterPolicy.
func IsPolicy(document []byte) bool {
	var head metav1.TypeMeta
	err := yaml.Unmarshal(document, &head)
	return err == nil && strings.HasPrefix(head.APIVersion, yubav1.GroupVersion.Group+"/") && (head.Kind == yubav1.PolicyKind || head.Kind == yubav1.ClusterPolicyKind)
}

// Define reads one policy in YAML or JSON. Its errors are about the document; a rule that cannot be
// used is a problem of the definition.
func Define(document []byte) (*Definition, error) {
	var head metav1.TypeMeta
	if err := yaml.Unmarshal(document, &head); err != nil {
		return nil, fmt.Errorf("read the policy: %w", err)
	}
	if head.APIVersion != yubav1.GroupVersion.String() {
		return nil, fmt.Errorf("the document's apiVersion is %q and its kind %q, expected a Policy or ClusterPolicy of %s", head.APIVersion, head.Kind, yubav1.GroupVersion)
	}
	switch head.Kind {
	case yubav1.PolicyKind:
		var obj yubav1.Policy
		if err := yamltext.Read(document, &obj); err != nil {
			return nil, fmt.Errorf("read the policy: %w", err)
		}
		return DefinitionOf(&obj), checked(&obj.ObjectMeta, &obj.Spec)
	case yubav1.ClusterPolicyKind:
		var obj yubav1.ClusterPolicy
		if err := yamltext.Read(document, &obj); err != nil {
			return nil, fmt.Errorf("read the policy: %w", err)
		}
		return ClusterDefinitionOf(&obj), checked(&obj.ObjectMeta, &obj.Spec.PolicySpec)
	}
	return nil, fmt.Errorf("the document's kind is %q, expected Policy or ClusterPolicy", head.Kind)
}

// DefinitionOf is the definition of a Policy.
func DefinitionOf(obj *yubav1.Policy) *Definition {
	// An API server would set the defaults.
	spec := defaulted(&obj.Spec)
	return &Definition{Kind: yubav1.PolicyKind, Namespace: obj.Namespace, Name: obj.Name, Spec: spec,
		policy: prepare(yubav1.PolicyKind+"/"+obj.Namespace+"/"+obj.Name, spec, spec, nil)}
}

// ClusterDefinitionOf is the definition of a ClusterPolicy.
func ClusterDefinitionOf(obj *yubav1.ClusterPolicy) *Definition {
	whole := yubav1.ClusterPolicySpec{PolicySpec: *defaulted(&obj.Spec.PolicySpec), NamespaceSelector: obj.Spec.NamespaceSelector}
	return &Definition{Kind: yubav1.ClusterPolicyKind, Name: obj.Name, Spec: &whole.PolicySpec, namespaces: whole.NamespaceSelector,
		policy: prepare(yubav1.ClusterPolicyKind+"/"+obj.Name, whole, &whole.PolicySpec, whole.NamespaceSelector)}
}

func defaulted(spec *yubav1.PolicySpec) *yubav1.PolicySpec {
	spec = spec.DeepCopy()
	spec.OnViolation = cmp.Or(spec.OnViolation, yubav1.PolicyRequireApproval)
	spec.Enforcement = cmp.Or(spec.Enforcement, yubav1.PolicyEnforce)
	return spec
}

// checked finds mistakes for which an API server would not accept the policy.
func checked(meta *metav1.ObjectMeta, spec *yubav1.PolicySpec) error {
	var all []error
	effects := []yubav1.PolicyEffect{"", yubav1.PolicyDeny, yubav1.PolicyRequireApproval, yubav1.PolicyWarn}
	wrongEffect := func(field string, effect yubav1.PolicyEffect) {
		if !slices.Contains(effects, effect) {
			all = append(all, fmt.Errorf("%s is %q, expected deny, requireApproval or warn", field, effect))
		}
	}
	if meta.Name == "" {
		all = append(all, errors.New("metadata.name is missing"))
	}
	if len(spec.Rules) == 0 {
		all = append(all, errors.New("spec.rules is empty, expected at least one rule"))
	}
	wrongEffect("spec.onViolation", spec.OnViolation)
	for i, r := range spec.Rules {
		wrongEffect(fmt.Sprintf("spec.rules[%d].onViolation", i), r.OnViolation)
	}
	if !slices.Contains([]yubav1.PolicyEnforcement{"", yubav1.PolicyEnforce, yubav1.PolicyAudit}, spec.Enforcement) {
		all = append(all, fmt.Errorf("spec.enforcement is %q, expected enforce or audit", spec.Enforcement))
	}
	for i, e := range spec.Exemptions {
		if e.Reason == "" || e.Expires.IsZero() {
			all = append(all, fmt.Errorf("spec.exemptions[%d] needs a reason, and a time at which it expires", i))
		}
	}
	return errors.Join(all...)
}

// String is the name of the policy in findings: ClusterPolicy/NAME or Policy/NAMESPACE/NAME.
func (d *Definition) String() string { return d.policy.name }

// EvaluatedBy has rules in Rego evaluated without a server: those inside of the policy, and those of
// the sources that [Definition.WithSource] gave it.
func (d *Definition) EvaluatedBy(e *Evaluator) { d.policy.attached.evaluator = e }

// RegoSources are the sources of rules in Rego, as KIND/NAMESPACE/NAME, each with the directory in it.
func (d *Definition) RegoSources() (all [][2]string) {
	for _, s := range d.policy.sources {
		if at := [2]string{s.ref, s.path}; s.ref != "" && s.problem == "" && !slices.Contains(all, at) {
			all = append(all, at)
		}
	}
	return all
}

// WithSource gives the definition the rules of a source, whose files are kept by the evaluator's store.
func (d *Definition) WithSource(ref, dir string, b *rego.Bundle) {
	d.policy.attached.bundles = append(d.policy.attached.bundles, yubav1.PolicyBundle{Source: ref, Path: dir, Revision: "local", Digest: b.Digest})
}

// Compile compiles the rules in Rego. Each problem names the field.
func (d *Definition) Compile(ctx context.Context) (problems []string) {
	a := d.policy.attached
	for _, s := range d.policy.sources {
		if s.problem != "" || a.evaluator == nil {
			continue
		}
		if err := a.evaluator.check(ctx, a.bundleOf(s), s); err != nil {
			problems = append(problems, shortened(err))
		}
	}
	return problems
}

// Problems says what of the policy cannot be used.
func (d *Definition) Problems() []string { return d.policy.problems() }

// Enforced is the definition as if it was in force.
func (d *Definition) Enforced() *Definition {
	enforced, p := *d, *d.policy
	p.spec = p.spec.DeepCopy()
	p.spec.Enforcement = yubav1.PolicyEnforce
	enforced.policy, enforced.Spec = &p, p.spec
	return &enforced
}

// SelectsByNamespace reports whether the labels of namespaces matter.
func (d *Definition) SelectsByNamespace() bool { return d.policy.namespaces != nil }

// Selects reports whether the policy concerns a stack. The labels are those of its namespace.
func (d *Definition) Selects(s Subject, namespaceLabels map[string]string) bool {
	p := d.policy
	return (d.Kind == yubav1.ClusterPolicyKind || d.Namespace == s.Namespace) && p.stacks.Matches(labels.Set(s.Labels)) &&
		(p.namespaces == nil || p.namespaces.Matches(labels.Set(namespaceLabels)))
}

// In is the definition of a Policy in a namespace, if its document names none; others stay as they
// are.
func (d *Definition) In(namespace string) *Definition {
	if d.Kind != yubav1.PolicyKind || d.Namespace != "" {
		return d
	}
	placed, p := *d, *d.policy
	p.name = yubav1.PolicyKind + "/" + namespace + "/" + d.Name
	placed.policy, placed.Namespace = &p, namespace
	return &placed
}

// BindTo is a binding of definitions, whatever they select.
func BindTo(definitions ...*Definition) *Binding {
	b := &Binding{}
	for _, d := range definitions {
		b.policies = append(b.policies, d.policy)
	}
	b.identify()
	return b
}

// Selection says in words what the policy selects.
func (d *Definition) Selection() string {
	text := "all stacks"
	if s := metav1.FormatLabelSelector(&d.Spec.Selector); !selectsAll(&d.Spec.Selector) {
		text = "stacks with " + s
	}
	if d.Kind == yubav1.PolicyKind {
		return text + " of " + cmp.Or(d.Namespace, "its namespace")
	}
	if d.namespaces != nil && !selectsAll(d.namespaces) {
		text += " in namespaces with " + metav1.FormatLabelSelector(d.namespaces)
	}
	return text
}

func selectsAll(s *metav1.LabelSelector) bool { return len(s.MatchLabels)+len(s.MatchExpressions) == 0 }

// Rules are the names of the rules.
func (d *Definition) Rules() []string {
	names := make([]string, 0, len(d.policy.rules))
	for _, r := range d.policy.rules {
		names = append(names, r.name)
	}
	return names
}
