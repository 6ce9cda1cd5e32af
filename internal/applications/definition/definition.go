// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/applications/composition"
	"github.com/yuba-dev/yuba/internal/applications/finding"
	"github.com/yuba-dev/yuba/internal/applications/schema"
	"github.com/yuba-dev/yuba/internal/applications/variables"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// Definition is a parsed definition. Do not change it.
type Definition struct {
	Name        string
	Application appv1.Application
	Backend     appv1.BackendType
	Prefix      string
	// Labels are those of the objects that instances become.
	Labels map[string]string
	// Annotations are those of the definition.
	Annotations map[string]string
	// Released: it has Cozystack's form, and its releases are exactly Cozystack's.
	Released bool
	// Helm, Terraform, Tenant or Composition is set, as Backend says.
	Helm        *appv1.HelmBackend
	Terraform   *appv1.TerraformBackend
	Tenant      *appv1.TenantBackend
	Composition *composition.Composition
	Schema      *schema.Schema
	// Table maps fields to variables; nil without Terraform.
	Table *variables.Table
	// Template is the part of each object's spec that the definition sets; nil for none.
	Template map[string]any
	// KeysOrder is the order of fields, for forms and examples.
	KeysOrder [][]string
	Category  string
	Warnings  finding.List
	// digest is that of everything that instances depend on.
	digest [sha256.Size]byte
}

// Same reports whether instances become the same by two definitions; both may be nil.
func (p *Definition) Same(q *Definition) bool {
	return p == q || p != nil && q != nil && p.digest == q.digest
}

// digestOf is the digest of everything that instances depend on.
func digestOf(d *appv1.ApplicationDefinition) [sha256.Size]byte {
	spec := d.Spec
	spec.Dashboard, spec.AggregateTo = nil, ""
	content, err := json.Marshal([]any{d.Name, spec, d.Annotations[appv1.AnnotationInstallTimeout], d.Annotations[appv1.AnnotationUpgradeTimeout], d.Annotations[appv1.AnnotationInstallDisableWait]})
	if err != nil {
		return [sha256.Size]byte{} // it came as JSON
	}
	return sha256.Sum256(content)
}

// reserved are plurals that mean something else in the paths of content.
var reserved = []string{"terraforms"}

// Parse reads a definition. It returns nil with errors.
func Parse(d *appv1.ApplicationDefinition) (*Definition, finding.List) {
	p := &Definition{Name: d.Name, digest: digestOf(d), Application: d.Spec.Application, Annotations: d.Annotations}
	if board := d.Spec.Dashboard; board != nil {
		p.KeysOrder, p.Category = board.KeysOrder, board.Category
	}
	var list finding.List
	switch b := d.Spec.Backend; {
	case d.Spec.Release != nil && b == nil:
		list = append(list, p.useHelm(d.Spec.Release, "spec.release")...)
		p.Released = true
	case b == nil || d.Spec.Release != nil || fields(b) != 1:
		list = append(list, finding.Finding{Severity: finding.Error, Field: "spec", Problem: "it has neither a release nor one backend",
			Advice: "set spec.release, or spec.backend with type and the field that type names"})
	case b.Helm != nil:
		list = append(list, p.useHelm(b.Helm, "spec.backend.helm")...)
	case b.Composition != nil:
		p.Backend, p.Prefix, p.Labels = appv1.BackendComposition, b.Composition.Prefix, b.Composition.Labels
	case b.Tenant != nil:
		p.Backend, p.Tenant, p.Labels = appv1.BackendTenant, b.Tenant, b.Tenant.Labels
		p.Prefix, _ = b.Tenant.Begin()
	default:
		p.Backend, p.Terraform, p.Prefix, p.Labels = appv1.BackendTerraform, b.Terraform, b.Terraform.Prefix, b.Terraform.Labels
	}
	if slices.Contains(reserved, d.Spec.Application.Plural) {
		list.Add(finding.Error, "spec.application.plural", "choose another one", "%q is reserved", d.Spec.Application.Plural)
	}
	if strings.HasPrefix(p.Prefix, "-") {
		list.Add(finding.Error, "spec", "begin it with a letter or digit", "the prefix %q begins names with a hyphen, which no object may have", p.Prefix)
	}
	s, found := schema.Parse(d.Spec.Application.OpenAPISchema)
	list = append(list, found.Below("spec.application.openAPISchema")...)
	p.Schema = s
	if s != nil && p.Terraform != nil {
		list = append(list, p.terraform()...)
	}
	if s != nil && p.Backend == appv1.BackendComposition {
		list = append(list, p.compose(d.Spec.Backend.Composition)...)
	}
	if list.Err() != nil {
		return nil, list
	}
	p.Warnings = list.Of(finding.Warning)
	return p, list
}

// fields is how many fields of a union are set.
func fields(b *appv1.Backend) (n int) {
	for _, set := range []bool{b.Helm != nil, b.Terraform != nil, b.Tenant != nil, b.Composition != nil} {
		if set {
			n++
		}
	}
	return n
}

func (p *Definition) useHelm(h *appv1.HelmBackend, field string) (list finding.List) {
	p.Backend, p.Helm, p.Prefix, p.Labels = appv1.BackendHelm, h, h.Prefix, h.Labels
	if h.Template == nil {
		return nil
	}
	var wrong []string
	p.Template, wrong = readTemplate(h.Template.Metadata, h.Template.Spec, helmDecides, typedAs[helmv2.HelmReleaseSpec])
	for _, w := range wrong {
		list = append(list, finding.Finding{Severity: finding.Error, Field: field + ".template", Problem: w})
	}
	return list
}

// Identity is the set of service accounts that instances may choose from; nil for the default.
func (p *Definition) Identity() *appv1.Identity {
	switch {
	case p.Terraform != nil:
		return p.Terraform.Identity
	case p.Helm != nil:
		return p.Helm.Identity
	}
	return nil
}

// Choosable reports whether instances, or their namespaces, choose a service account.
func (p *Definition) Choosable() bool {
	identity := p.Identity()
	return identity != nil && len(identity.Allowed) > 0
}

// compose checks what is special to compositions.
func (p *Definition) compose(b *appv1.CompositionBackend) (list finding.List) {
	const field = "spec.backend.composition"
	made, found := composition.Parse(b, p.Schema)
	list = append(list, found.Below(field)...)
	if made == nil {
		return list
	}
	p.Composition = made
	if slices.Contains(made.Kinds(), p.Application.Kind) {
		list.Add(finding.Error, field, "remove that resource", "an instance of %s would make another one, and so on", p.Application.Kind)
	}
	if made.Longest() >= appv1.MaxName {
		list.Add(finding.Error, field, "shorten the prefix and the ids", "names of objects have at most %d characters, and %d of them are the definition's", appv1.MaxName, made.Longest())
	}
	return list
}

// Overhead is how many characters the names of objects have besides the instance's name.
func (p *Definition) Overhead() int {
	if p.Composition != nil {
		return p.Composition.Longest()
	}
	return len(p.Prefix)
}

// terraform checks what is special to stacks.
func (p *Definition) terraform() (list finding.List) {
	m := variables.Mapping{}
	if v := p.Terraform.Variables; v != nil {
		m = variables.Mapping{Naming: v.Naming, Nesting: v.Nesting, Overrides: v.Overrides}
	}
	table, found := variables.New(p.Schema, m)
	list = append(list, found.Below("spec.backend.terraform.variables")...)
	p.Table = table
	var wrong []string
	if t := p.Terraform.Template; t != nil {
		p.Template, wrong = readTemplate(t.Metadata, t.Spec, stackDecides, typedAs[infrav1.TerraformSpec])
	}
	for _, w := range wrong {
		list = append(list, finding.Finding{Severity: finding.Error, Field: "spec.backend.terraform.template", Problem: w})
	}
	if len(p.Terraform.SensitiveOutputs) > 0 && p.Terraform.Module == "" {
		list = append(list, finding.Finding{Severity: finding.Error, Field: "spec.backend.terraform.sensitiveOutputs",
			Problem: "only module has it: the program itself says which outputs are sensitive", Advice: "remove it"})
	}
	if table == nil || len(wrong) > 0 {
		return list
	}
	if len(p.Terraform.Inline) > 0 {
		return append(list, p.program()...)
	}
	given, err := p.given(false)
	if err != nil {
		return append(list, finding.Finding{Severity: finding.Error, Field: "spec.backend.terraform.template", Problem: err.Error()})
	}
	return append(list, table.Twice(given).Below("spec.backend.terraform.variables")...)
}

// program checks an inline program: its variables get what they need, and its outputs exist.
func (p *Definition) program() (list finding.List) {
	files := map[string][]byte{}
	for name, text := range p.Terraform.Inline {
		files[name] = []byte(text)
	}
	m, diagnostics := module.Parse(files)
	for _, d := range diagnostics {
		if d.Severity == diagnostic.Error {
			list = append(list, finding.Finding{Severity: finding.Error, Field: "spec.backend.terraform.inline", Problem: d.Summary,
				Advice: d.Detail, Pos: fmt.Sprintf("%s:%d", d.File, d.Line)})
		}
	}
	if len(list) > 0 || m == nil {
		return list
	}
	return append(list, p.Against(m)...)
}

// ObjectName is the name of the object that an instance becomes.
func (p *Definition) ObjectName(instance string) string { return p.Prefix + instance }

// typed reads a part of a spec, and refuses fields that it does not have.
func typed[Spec any](part map[string]any) (*Spec, error) {
	spec := new(Spec)
	if part == nil {
		return spec, nil
	}
	data, err := json.Marshal(part)
	if err != nil {
		return nil, err
	}
	return spec, strictly(data, spec)
}

func typedAs[Spec any](part map[string]any) error {
	_, err := typed[Spec](part)
	return err
}
