// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/diff"
	"github.com/yuba-dev/yuba/internal/tenants/check"
	"github.com/yuba-dev/yuba/internal/tenants/hide"
	"github.com/yuba-dev/yuba/internal/tenants/render"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

const (
	// diffChanged: the template changes the object.
	diffChanged diff.Action = "changed"
	// diffKept: the template no longer has the object, and its deletionPolicy is Retain.
	diffKept diff.Action = "kept"
)

// tenantDiff has the changes of a template for one tenant.
type tenantDiff struct {
	Tenant string `json:"tenant"`
	UID    string `json:"uid"`
	// Changes are the changes of its objects.
	Changes []diff.Change `json:"changes"`
	// Problems are errors of rendering.
	Problems []string `json:"problems,omitempty"`
}

func newTenantDiffCommand(a *session.App) *cobra.Command {
	try := &tenantTry{App: a}
	var summary bool
	var uids []string
	cmd := &cobra.Command{
		Use:   "diff [TEMPLATE]",
		Short: "Show what a template would change for each tenant",
		Long: `Show what a template would change for each tenant: the objects that the template would make, compared with those that the
tenant got last. The template comes from a file (-f), before you apply it, or from the API, to see what a rollout still has to
change. The command changes nothing and reads no database: it uses the rows that the tenants were made of.

It does not compare changes that others made to the objects, and leaves objects with creationPolicy Once as they are. It
hides values of Secrets, and of variables that a program declares as sensitive.

The exit code is 0 without changes, 1 with changes, and higher if the comparison failed.`,
		Example: "  yuba tenant diff -f web.yaml\n  yuba tenant diff web -f web.yaml --summary\n  yuba tenant diff web --tenant acme -o json",
		Args:    try.arguments, ValidArgsFunction: a.ObjectNames(session.TenantTemplates, false),
	}
	try.flags(cmd)
	cmd.Flags().BoolVar(&summary, "summary", false, "one line for each tenant, without the fields")
	cmd.Flags().StringSliceVar(&uids, "tenant", nil, "compare only the tenant with this uid; can be repeated")
	completeUIDs(a, cmd)
	out := ui.AddOutputFlag(cmd, "json", "yaml")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return session.DiffError(try.diff(cmd, args, uids, summary, out))
	}
	return cmd
}

func (t *tenantTry) diff(cmd *cobra.Command, args, uids []string, summary bool, out *ui.Output) error {
	if err := t.load(cmd, args, true); err != nil {
		return err
	}
	of := slices.DeleteFunc(slices.Clone(t.all), func(tenant *tenantv1.Tenant) bool {
		return tenant.Spec.TemplateRef != t.template.Name || !tenant.DeletionTimestamp.IsZero() ||
			len(uids) > 0 && !slices.Contains(uids, tenant.Spec.UID) && !slices.Contains(uids, tenant.Labels[tenantv1.LabelUID])
	})
	if len(of) == 0 {
		command := t.session.Call(types.NamespacedName{Namespace: t.template.Namespace, Name: t.template.Name})
		if t.file != "" {
			command = "-f " + t.file
		}
		t.News("TenantTemplate %s/%s has no such tenants. Show what it makes of a row:\n    yuba tenant render %s", t.template.Namespace, t.template.Name, command)
	}
	mistakes, err := t.mistakesFor(cmd.Context(), of)
	if err != nil {
		return err
	}
	diffs := []tenantDiff{}
	for _, tenant := range of {
		if d := t.compare(tenant); len(d.Changes)+len(d.Problems) > 0 {
			diffs = append(diffs, d)
		}
	}
	if out.Machine() {
		if err := out.Print(t.Out, diffs); err != nil {
			return err
		}
	} else {
		t.writeDiffs(diffs, summary)
		t.News("%d of %s would change.", len(diffs), ui.Count(len(of), "tenant"))
	}
	return diffResult(diffs, mistakes)
}

// mistakesFor reports mistakes in the template, with the row of one of its tenants.
func (t *tenantTry) mistakesFor(ctx context.Context, of []*tenantv1.Tenant) (int, error) {
	subject := check.Subject{Template: t.template, Row: check.SampleOf(t.template, t.registry), Invented: true}
	if len(of) > 0 {
		// compare reports a tenant without its row.
		if r, err := render.RowOf(of[0]); err == nil {
			subject.Row, subject.Invented = r, false
		}
	}
	return t.tellMistakes(ctx, subject)
}

func diffResult(diffs []tenantDiff, mistakes int) error {
	broken := 0
	for _, d := range diffs {
		if len(d.Problems) > 0 {
			broken++
		}
	}
	switch {
	case broken > 0:
		return ui.Exitf(ui.ExitDiffFailed, "the template does not render for %s", ui.Count(broken, "tenant"))
	case mistakes > 0:
		return ui.Exitf(ui.ExitDiffFailed, "the template has %s, and changes no tenant", ui.Count(mistakes, "mistake"))
	case len(diffs) > 0:
		return ui.WithCode(ui.ExitDifferent, errors.New(""))
	}
	return nil
}

// compare returns the changes of the template for a tenant.
func (t *tenantTry) compare(tenant *tenantv1.Tenant) tenantDiff {
	d := tenantDiff{Tenant: tenant.Namespace + "/" + tenant.Name, UID: tenant.Spec.UID, Changes: []diff.Change{}}
	r, err := render.RowOf(tenant)
	if err != nil {
		d.Problems = append(d.Problems, err.Error())
		return d
	}
	spec, err := render.Tenant(t.template, r, t.pools.For(r.UID, tenant.Spec.Allocations))
	if err != nil {
		d.Problems = append(d.Problems, err.Error())
		return d
	}
	next := tenant.DeepCopy()
	next.Spec = *spec
	before, _ := render.Objects(tenant) // objects that did not render were not created
	after, broken := render.Objects(next)
	for _, e := range broken {
		d.Problems = append(d.Problems, e.Error())
	}
	if !equality.Semantic.DeepEqual(tenant.Spec.KubeConfig, next.Spec.KubeConfig) {
		d.Changes = append(d.Changes, diff.Change{Action: diffChanged, Object: tenantv1.TenantKind + "/" + d.Tenant, Fields: []diff.Field{
			{Path: "/spec/kubeConfig", Before: orNothing(tenant.Spec.KubeConfig), After: orNothing(next.Spec.KubeConfig)}}})
	}
	d.Changes = append(d.Changes, changesOf(before, after, broken)...)
	return d
}

// orNothing turns a nil reference into nil.
func orNothing(ref *meta.KubeConfigReference) any {
	if ref == nil {
		return nil
	}
	return ref
}

// tenantObject identifies an object, whatever its version.
type tenantObject struct {
	schema.GroupKind
	namespace, name string
}

func tenantObjectOf(o render.Object) tenantObject {
	return tenantObject{o.Object.GroupVersionKind().GroupKind(), o.Object.GetNamespace(), o.Object.GetName()}
}

// String is Kind/namespace/name.
func (o tenantObject) String() string {
	return strings.Join(slices.DeleteFunc([]string{o.Kind, o.namespace, o.name}, func(part string) bool { return part == "" }), "/")
}

// changesOf compares a tenant's objects with its next ones. Those that do not render stay.
func changesOf(before, after []render.Object, broken []render.Error) []diff.Change {
	had, has := map[tenantObject]render.Object{}, map[tenantObject]bool{}
	for _, o := range before {
		had[tenantObjectOf(o)] = o
	}
	var changes []diff.Change
	for _, o := range after {
		key := tenantObjectOf(o)
		has[key] = true
		was, there := had[key]
		switch {
		case !there:
			changes = append(changes, diff.Change{Action: diff.Created, Object: key.String()})
		default:
			fields := rulesOf(was.Resource, o.Resource)
			if o.Resource.CreationPolicy != tenantv1.CreationPolicyOnce {
				is := o.Object
				if left, err := render.WithIgnored(is, was.Object, o.Resource.IgnoreFields); err == nil {
					is = left // others own these fields
				}
				fields = append(fields, diff.Fields(hide.Changes(was.Object, is))...)
			}
			if len(fields) > 0 {
				changes = append(changes, diff.Change{Action: diffChanged, Object: key.String(), Fields: fields})
			}
		}
	}
	for _, o := range before {
		key := tenantObjectOf(o)
		stays := slices.ContainsFunc(broken, func(e render.Error) bool { return e.ID == o.ID || e.ID == "" })
		switch {
		case has[key] || stays:
		case o.Resource.DeletionPolicy == tenantv1.DeletionPolicyRetain:
			changes = append(changes, diff.Change{Action: diffKept, Object: key.String()})
		default:
			changes = append(changes, diff.Change{Action: diff.Deleted, Object: key.String()})
		}
	}
	return changes
}

// rulesOf compares the policies of an object, which are not part of its manifest.
func rulesOf(was, is *tenantv1.TResource) []diff.Field {
	var fields []diff.Field
	for _, rule := range []struct {
		name  string
		was   string
		is    string
		usual string
	}{
		{"creationPolicy", string(was.CreationPolicy), string(is.CreationPolicy), string(tenantv1.CreationPolicyWhenNeeded)},
		{"deletionPolicy", string(was.DeletionPolicy), string(is.DeletionPolicy), string(tenantv1.DeletionPolicyDelete)},
		{"conflictPolicy", string(was.ConflictPolicy), string(is.ConflictPolicy), string(tenantv1.ConflictPolicyStuck)},
		{"patchStrategy", string(was.PatchStrategy), string(is.PatchStrategy), string(tenantv1.PatchStrategyApply)},
	} {
		if was, is := cmp.Or(rule.was, rule.usual), cmp.Or(rule.is, rule.usual); was != is {
			fields = append(fields, diff.Field{Path: rule.name, Before: was, After: is})
		}
	}
	return fields
}

func (t *tenantTry) writeDiffs(diffs []tenantDiff, summary bool) {
	colors := map[diff.Action]string{diff.Created: ui.ColorGreen, diffChanged: ui.ColorYellow, diff.Deleted: ui.ColorRed, diffKept: ui.ColorYellow}
	for _, d := range diffs {
		if summary {
			fmt.Fprintln(t.Out, d.line())
			continue
		}
		fmt.Fprintln(t.Out, t.Paint(t.Out, ui.ColorBold, fmt.Sprintf("Tenant/%s (uid %q)", d.Tenant, d.UID)))
		for _, problem := range d.Problems {
			fmt.Fprintln(t.Out, t.Paint(t.Out, ui.ColorRed, "✗ "+diagnostic.Printable(problem)))
		}
		for _, change := range d.Changes {
			// Rows are untrusted, and must not control the terminal.
			change.Write(t.Out, func(action diff.Action, text string) string {
				return t.Paint(t.Out, colors[action], diagnostic.Printable(text))
			})
		}
	}
}

func (d tenantDiff) line() string {
	counts := map[diff.Action]int{}
	for _, change := range d.Changes {
		counts[change.Action]++
	}
	var parts []string
	for _, part := range []struct {
		action diff.Action
		word   string
	}{{diff.Created, "to create"}, {diffChanged, "to change"}, {diff.Deleted, "to delete"}, {diffKept, "to keep, unmanaged"}} {
		if n := counts[part.action]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, part.word))
		}
	}
	if len(d.Problems) > 0 {
		parts = append(parts, "does not render: "+ui.FirstLine(diagnostic.Printable(d.Problems[0]), 200))
	}
	return fmt.Sprintf("Tenant/%s  %s", d.Tenant, strings.Join(parts, ", "))
}
