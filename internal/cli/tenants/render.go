// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/tenants/allocate"
	"github.com/yuba-dev/yuba/internal/tenants/check"
	"github.com/yuba-dev/yuba/internal/tenants/hide"
	"github.com/yuba-dev/yuba/internal/tenants/render"
	"github.com/yuba-dev/yuba/internal/tenants/row"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// tenantTry tries a template with a row.
type tenantTry struct {
	*session.App
	file  string
	pairs []string
	uid   string
	// reveal shows sensitive values.
	reveal bool

	// session is nil if everything comes from a file.
	session  *session.Session
	template *tenantv1.TenantTemplate
	// registry is nil if it is unknown.
	registry *tenantv1.TenantRegistry
	pools    *allocate.Pools
	// all are the registry's tenants, if they were read.
	all []*tenantv1.Tenant
	// tenant is the one whose row is used; nil for none.
	tenant *tenantv1.Tenant
}

func newTenantRenderCommand(a *session.App) *cobra.Command {
	try := &tenantTry{App: a}
	cmd := &cobra.Command{
		Use:   "render [TEMPLATE]",
		Short: "Print the objects that a template makes of a row",
		Long: `Print the objects that a template makes of a row: the row of --row, that of a tenant with --tenant, or a made-up one. The
command changes nothing and reads no database. The template comes from the API, or from a file (-f). If the file also contains
the registry, the command does not use the API.

--row names columns of the registry's table, or variables of templates: uid, hostOrUrl, activate and those of
extraValueMappings. Omitted columns are NULL, and the row is active.

The command shows values of Secrets, and of variables that a program declares as sensitive, only with --show-sensitive.

It reports mistakes in the template as the server does: templates that do not render, programs that are not valid HCL, variables
that no program declares, keys of Secrets that are not outputs. The exit code is 1 then. Only the server checks whether the API
serves the kinds and accepts the objects, when the template is applied.`,
		Example: "  yuba tenant render web --row id=acme --row plan=pro\n  yuba tenant render web --tenant acme\n  yuba tenant render -f web.yaml --row uid=acme -o json",
		Args:    try.arguments, ValidArgsFunction: a.ObjectNames(session.TenantTemplates, false),
	}
	try.flags(cmd)
	cmd.Flags().StringArrayVar(&try.pairs, "row", nil, "a column or variable of the row as NAME=VALUE; can be repeated")
	cmd.Flags().StringVar(&try.uid, "tenant", "", "the uid of a tenant whose row is used")
	completeUIDs(a, cmd)
	cmd.Flags().BoolVar(&try.reveal, "show-sensitive", false, "show sensitive values, too")
	out := ui.AddOutputFlag(cmd, "json", "yaml")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if try.uid != "" && len(try.pairs) > 0 {
			return ui.UsageErrorf(cmd, "use --row or --tenant, not both")
		}
		for _, pair := range try.pairs {
			if name, _, ok := strings.Cut(pair, "="); !ok || name == "" {
				return ui.UsageErrorf(cmd, "--row %q: want NAME=VALUE, such as id=acme", pair)
			}
		}
		return try.render(cmd, args, out)
	}
	return cmd
}

func (t *tenantTry) flags(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&t.file, "filename", "f", "", "the file with the template, instead of the API's; - is standard input")
	// The command has this flag.
	_ = cmd.MarkFlagFilename("filename", "yaml", "yml", "json")
}

// arguments requires the template's name, unless it comes from a file.
func (t *tenantTry) arguments(cmd *cobra.Command, args []string) error {
	if t.file != "" {
		return ui.Arguments(0, 1)(cmd, args)
	}
	return ui.Arguments(1, 1)(cmd, args)
}

func (t *tenantTry) render(cmd *cobra.Command, args []string, out *ui.Output) error {
	ctx := cmd.Context()
	if err := t.load(cmd, args, t.uid != ""); err != nil {
		return err
	}
	subject, err := t.subject(cmd)
	if err != nil {
		return err
	}
	mistakes, err := t.tellMistakes(ctx, subject)
	if err != nil {
		return err
	}
	tenant, err := check.Tenant(t.template, subject.Row, t.allocator(subject.Row))
	if err == nil {
		objects, _ := render.Objects(tenant) // errors are findings
		manifests := make([]*unstructured.Unstructured, 0, len(objects))
		for _, o := range objects {
			if !t.reveal {
				o.Object = hide.Secrets(o.Object)
			}
			manifests = append(manifests, o.Object)
		}
		if err := t.WriteObjects(manifests, out.Form); err != nil {
			return err
		}
	}
	if mistakes > 0 || err != nil {
		return ui.Exitf(ui.ExitFailure, "render TenantTemplate %s for %s: it has %s", t.template.Name, subject.Row.SafeUID, ui.Count(max(mistakes, 1), "mistake"))
	}
	return nil
}

// tellMistakes reports and counts mistakes in the template. Those that only the server finds, such
// as unserved kinds, come from the condition of the API's template.
func (t *tenantTry) tellMistakes(ctx context.Context, subject check.Subject) (mistakes int, err error) {
	findings, err := check.Template(ctx, subject, nil)
	if err != nil {
		return 0, err
	}
	mistake := t.Paint(t.Err, ui.ColorRed, "Mistake:")
	for _, f := range findings {
		word := t.Paint(t.Err, ui.ColorYellow, "Warning:")
		if f.Severity == check.Error {
			word = mistake
		}
		t.News("%s %s", word, f)
		if f.Snippet != nil {
			t.News("%s", strings.TrimRight(f.Snippet.Format(diagnostic.Options{Color: t.Colors(t.Err)}), "\n"))
		}
	}
	mistakes = len(check.Errors(findings))
	valid := apimeta.FindStatusCondition(t.template.Status.Conditions, tenantv1.ConditionValid)
	if mistakes > 0 || valid == nil || valid.Status != metav1.ConditionFalse || valid.ObservedGeneration < t.template.Generation && valid.ObservedGeneration > 0 {
		return mistakes, nil
	}
	for line := range strings.Lines(diagnostic.Printable(valid.Message)) {
		if check.WithoutCode(strings.TrimSuffix(line, "\n")) == "" { // it belongs to the mistake above
			t.News("%s", strings.TrimRight(line, "\n"))
			continue
		}
		t.News("%s %s", mistake, strings.TrimSpace(line))
		mistakes++
	}
	return mistakes, nil
}

// load finds the template, its registry and its tenants; the last are optional without needsAPI.
func (t *tenantTry) load(cmd *cobra.Command, args []string, needsAPI bool) error {
	var err error
	name := ""
	if len(args) > 0 {
		name = args[0]
	}
	t.pools = allocate.New()
	if t.session, err = t.Connect(); err != nil && (t.file == "" || needsAPI) {
		return err
	}
	if t.file == "" {
		err = t.fetch(cmd, name)
	} else {
		err = t.openFile(cmd.Context(), name, needsAPI)
	}
	if err != nil || t.session == nil {
		return err
	}
	if err = t.readTenants(cmd.Context()); err != nil && !needsAPI {
		t.News("%s Cannot list the existing tenants, so allocated numbers may differ: %v", t.Paint(t.Err, ui.ColorYellow, "Warning:"), err)
		return nil
	}
	return err
}

// openFile reads the template from its file. The registry, which has the names of columns, comes
// from the file, else from the API; without it the template is tried anyway.
func (t *tenantTry) openFile(ctx context.Context, name string, needsAPI bool) (err error) {
	namespace := t.NamespaceFlag()
	if t.session != nil {
		namespace = t.session.Namespace
	}
	if t.template, t.registry, err = templateIn(t.Console, t.file, namespace, name); err != nil || needsAPI && t.registry != nil {
		return err
	}
	if t.session != nil && t.registry == nil {
		ctx, cancel := context.WithTimeout(ctx, session.ServerPatience)
		defer cancel()
		if err = t.findRegistry(ctx); err == nil || needsAPI {
			return err
		}
		t.unknownColumns(fmt.Sprintf("Cannot get TenantRegistry %s (%v)", t.registryKey(), err))
	} else if t.registry == nil {
		t.unknownColumns(fmt.Sprintf("TenantRegistry %s is not in %s, and there is no API to get it from", t.registryKey(), t.file))
	}
	t.session = nil // everything else is in the file
	return nil
}

func (t *tenantTry) unknownColumns(because string) {
	t.News("%s %s, so the names of columns are unknown; use those of variables.", t.Paint(t.Err, ui.ColorYellow, "Warning:"), because)
}

func (t *tenantTry) registryKey() types.NamespacedName {
	return types.NamespacedName{Namespace: t.template.Namespace, Name: t.template.Spec.RegistryID}
}

// fetch reads the template and its registry from the API.
func (t *tenantTry) fetch(cmd *cobra.Command, name string) error {
	keys, err := t.session.Keys(cmd, session.TenantTemplates, []string{name})
	if err != nil {
		return err
	}
	t.template = &tenantv1.TenantTemplate{}
	if err := t.session.GetAs(cmd.Context(), session.TenantTemplates, keys[0], t.template); err != nil {
		return err
	}
	return t.findRegistry(cmd.Context())
}

// findRegistry reads the template's registry from the API. A missing one is not an error.
func (t *tenantTry) findRegistry(ctx context.Context) error {
	registry := &tenantv1.TenantRegistry{}
	err := t.session.GetAs(ctx, session.TenantRegistries, t.registryKey(), registry)
	switch {
	case ui.IsNotFound(err):
		t.unknownColumns(fmt.Sprintf("There is no TenantRegistry %s", t.registryKey()))
		return nil
	case err == nil:
		t.registry = registry
	}
	return err
}

// readTenants records the numbers of the registry's tenants, and finds the requested one.
func (t *tenantTry) readTenants(ctx context.Context) error {
	var err error
	if t.all, err = t.session.TenantsOf(ctx, t.template.Namespace, t.template.Spec.RegistryID); err != nil {
		return err
	}
	for _, tenant := range t.all {
		t.pools.Keep(tenant.Spec.UID, tenant.Spec.Allocations)
		named := t.uid != "" && (tenant.Spec.UID == t.uid || tenant.Labels[tenantv1.LabelUID] == t.uid)
		if named && (t.tenant == nil || tenant.Spec.TemplateRef == t.template.Name) {
			t.tenant = tenant
		}
	}
	if t.uid != "" && t.tenant == nil {
		return ui.Exitf(ui.ExitNotFound, "find the row of tenant %s: registry %s/%s has no such tenant. List its tenants:\n    yuba tenant list -n %s", t.uid,
			t.template.Namespace, t.template.Spec.RegistryID, t.template.Namespace)
	}
	return nil
}

// allocator has the tenant's numbers, or those that it would get now.
func (t *tenantTry) allocator(r row.Row) render.Allocator {
	var had map[string]int64
	if t.tenant != nil && t.tenant.Spec.TemplateRef == t.template.Name {
		had = t.tenant.Spec.Allocations
	}
	return t.pools.For(r.UID, had)
}

func (t *tenantTry) subject(cmd *cobra.Command) (check.Subject, error) {
	s := check.Subject{Template: t.template}
	var err error
	switch {
	case t.tenant != nil && t.uid != "":
		s.Row, err = render.RowOf(t.tenant)
	case len(t.pairs) > 0:
		s.Row, err = t.rowOfPairs(cmd)
	default:
		s.Row, s.Invented = check.SampleOf(t.template, t.registry), true
		t.News("The row is made up. For a real one, use --row or --tenant.")
	}
	return s, err
}

// rowOfPairs is the row of --row, as the registry would map it.
func (t *tenantTry) rowOfPairs(cmd *cobra.Command) (row.Row, error) {
	mappings, extra := tenantv1.ValueMappings{UID: "uid", HostOrURL: "hostOrUrl", Activate: "activate"}, map[string]string{}
	if t.registry != nil {
		mappings, extra = t.registry.Spec.ValueMappings, t.registry.Spec.ExtraValueMappings
	}
	variables := map[string]string{"uid": mappings.UID, "activate": mappings.Activate}
	if mappings.HostOrURL != "" {
		variables["hostOrUrl"] = mappings.HostOrURL
	}
	for name, column := range extra {
		variables[name] = column
	}
	columns := map[string]*string{}
	for _, column := range row.Columns(mappings, extra) {
		columns[column] = nil
	}
	for _, pair := range t.pairs {
		name, value, _ := strings.Cut(pair, "=")
		column := name
		if _, is := columns[name]; !is {
			if column = variables[name]; column == "" && t.registry == nil {
				column, extra[name] = name, name
			}
		}
		if columns[column] != nil {
			return row.Row{}, ui.UsageErrorf(cmd, "--row %s: the column %s has a value already", name, column)
		}
		if column == "" {
			return row.Row{}, ui.UsageErrorf(cmd, "--row %s: the registry %s has no such column and no such variable; it maps %s", name, t.registry.Name,
				strings.Join(row.Columns(mappings, extra), ", "))
		}
		columns[column] = &value
	}
	if columns[mappings.Activate] == nil {
		active := "1"
		columns[mappings.Activate] = &active
	}
	r, err := row.Map(columns, mappings, extra)
	if errors.Is(err, row.ErrNoUID) {
		return r, ui.UsageErrorf(cmd, "--row %s=…: the tenant's uid is missing", mappings.UID)
	}
	t.tellOfNulls(columns)
	if err == nil && !r.Active {
		t.News("%s The row is not active (%s is %q), and has no tenant.", t.Paint(t.Err, ui.ColorYellow, "Warning:"), mappings.Activate, r.Activate)
	}
	return r, err
}

func (t *tenantTry) tellOfNulls(columns map[string]*string) {
	var null []string
	for column, value := range columns {
		if value == nil {
			null = append(null, column)
		}
	}
	if slices.Sort(null); len(null) > 0 {
		t.News("Columns without a value are empty: %s.", strings.Join(null, ", "))
	}
}
