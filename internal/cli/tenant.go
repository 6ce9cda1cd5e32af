// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/tenants/check"
	"github.com/yuba-dev/yuba/internal/tenants/row"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

func newTenantCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "tenant COMMAND",
		Aliases: []string{"tenants"},
		Short:   "List tenants, try templates, confirm deletions",
		Long: `Look at tenants: the rows of a registry (a table of a database, for instance), each of which gets the objects that the
templates of the registry say. Registries and templates are listed by "yuba get tenantregistries" and "yuba get
tenanttemplates"; a registry is read at once by "yuba reconcile tenantregistry NAME".`,
		Example: "  yuba tenant list\n  yuba tenant render web --row id=acme\n  yuba tenant diff web -f web.yaml",
		Args:    noSuchCommand,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newTenantListCommand(a), newTenantRenderCommand(a), newTenantDiffCommand(a), newTenantConfirmCommand(a))
	return cmd
}

func newTenantListCommand(a *app) *cobra.Command {
	var all bool
	var selector, status, registry, template string
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List tenants",
		Long: `List the tenants of a namespace, or of all: which row each is, how many of its objects are ready, and what it says. Told beside
are registries that cannot be read, rows that cannot be tenants, templates with mistakes, and deletions that wait to be confirmed.

With -o json and -o yaml, as with those of "yuba get tenants", the values of extra columns are hidden: nobody says which of them
are secret. "yuba kubectl get tenants -o yaml" shows them.`,
		Example: "  yuba tenant list\n  yuba tenant list -A --status-selector ready=false\n  yuba tenant list --registry customers --template web -o json",
		Args:    arguments(0, 0), ValidArgsFunction: noNames,
	}
	flags := cmd.Flags()
	flags.BoolVarP(&all, "all-namespaces", "A", false, "list those of all namespaces")
	flags.StringVarP(&selector, "selector", "l", "", "list only those with these labels, such as "+tenantv1.LabelUID+"=acme")
	flags.StringVar(&status, "status-selector", "", "list only those with this condition, such as ready=false")
	flags.StringVar(&registry, "registry", "", "list only those of this registry")
	flags.StringVar(&template, "template", "", "list only those of this template")
	completeObjects(a, cmd, "registry", tenantRegistries)
	completeObjects(a, cmd, "template", tenantTemplates)
	out := addTableFlag(cmd, "json", "yaml", "name")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := out.check(cmd); err != nil {
			return err
		}
		match, err := labels.Parse(selector)
		if err != nil {
			return usageErrorf(cmd, "-l %s: %w", selector, err)
		}
		if registry != "" {
			of, err := labels.NewRequirement(tenantv1.LabelRegistry, selection.Equals, []string{row.RegistryLabel(registry)})
			if err != nil {
				return usageErrorf(cmd, "--registry %s: %w", registry, err)
			}
			match = match.Add(*of)
		}
		keep, err := statusSelector(cmd, status)
		if err != nil {
			return err
		}
		s, err := a.connect()
		if err != nil {
			return err
		}
		v := &getView{session: s, answer: out, namespace: s.namespace, told: map[string]string{}, getting: getting{
			kinds: []kind{tenants}, selector: match, some: selector+status+registry+template != "",
			keep: func(o *object) bool { return keep(o) && (template == "" || o.text("spec", "templateRef") == template) }}}
		if all {
			v.namespace = ""
		}
		return v.listTenants(cmd.Context(), registry, template)
	}
	return cmd
}

// completeObjects completes a flag with the names of objects.
func completeObjects(a *app, cmd *cobra.Command, flag string, k kind) {
	completeFlag(cmd, flag, a.objectNames(k, true))
}

// completeUIDs completes the flag --tenant with uids as they are in names: what a row has could be a command to a shell.
func completeUIDs(a *app, cmd *cobra.Command) {
	completeFlag(cmd, "tenant", a.objectWords(tenants, func(o *object) string { return o.GetLabels()[tenantv1.LabelUID] }))
}

func completeFlag(cmd *cobra.Command, flag string, with cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, with); err != nil {
		panic(fmt.Sprintf("%v. This is a bug in Yuba.", err))
	}
}

func (v *getView) listTenants(ctx context.Context, registry, template string) error {
	objects, _, err := v.listObjects(ctx, tenants, v.namespace, client.MatchingLabelsSelector{Selector: v.selector})
	if err != nil {
		return err
	}
	objects = slices.DeleteFunc(objects, func(o *object) bool { return !v.keep(o) })
	if err := v.show(objects); err != nil || v.answer.machine() {
		return err
	}
	return errors.Join(v.tellOfRegistries(ctx, registry), v.tellOfTemplates(ctx, registry, template))
}

// tellOfRegistries tells what keeps tenants from following their rows.
func (v *getView) tellOfRegistries(ctx context.Context, only string) error {
	registries, _, err := v.listObjects(ctx, tenantRegistries, v.namespace)
	if err != nil {
		return err
	}
	for _, o := range registries {
		var registry tenantv1.TenantRegistry
		if err := o.as(&registry); err != nil {
			return err
		}
		if only != "" && o.GetName() != only {
			continue
		}
		if ready := o.ready(); ready.Status == metav1.ConditionFalse {
			v.news("%s could not be read, and its tenants stay as they are: %s", o, firstLine(diagnostic.Printable(ready.Message), 300))
		}
		if last := registry.Status.LastSync; last != nil && last.RejectedRows > 0 {
			v.news("%s of %s cannot be tenants: %s", count(int(last.RejectedRows), "row"), o, diagnostic.Printable(reasons(last.Rejected)))
		}
		if held := registry.Status.Held; held != nil && !held.Confirmed {
			v.news("%s holds back the deletion of %s: %s. Let it go on:\n    yuba tenant confirm %s", o, count(int(held.Count), "tenant"),
				namedTenants(held.Tenants, int(held.Count)), v.call(o.key()))
		}
	}
	return nil
}

// tellOfTemplates tells what keeps tenants from following their templates.
func (v *getView) tellOfTemplates(ctx context.Context, registry, only string) error {
	templates, _, err := v.listObjects(ctx, tenantTemplates, v.namespace)
	if err != nil {
		return err
	}
	for _, o := range templates {
		valid, applied := o.condition(tenantv1.ConditionValid), o.condition(tenantv1.ConditionApplied)
		switch {
		case registry != "" && o.text("spec", "registryId") != registry || only != "" && o.GetName() != only:
		case o.GetDeletionTimestamp() != nil:
			v.news("%s is being deleted: %s", o, diagnostic.Printable(applied.Message)) // with the command that it may wait for
		case applied.Reason == tenantv1.ReasonRegistryNotFound:
			v.news("%s has no rows: %s", o, firstLine(diagnostic.Printable(applied.Message), 300))
		case valid.Status == metav1.ConditionFalse:
			v.news("%s has mistakes, and makes and changes no tenants: %s", o, firstLine(diagnostic.Printable(valid.Message), 300)+andMore(check.WithoutCode(valid.Message)))
		case applied.Reason == tenantv1.ReasonRolloutPaused:
			v.news("%s does not go on to other tenants: %s", o, firstLine(diagnostic.Printable(applied.Message), 300))
		}
	}
	return nil
}

// andMore says how much there is behind the first line.
func andMore(text string) string {
	if n := strings.Count(strings.TrimSpace(text), "\n"); n > 0 {
		return fmt.Sprintf(" (and %d more)", n)
	}
	return ""
}

// reasons tells why some rows were left out. One of them may be of many rows.
func reasons(rejected []string) string {
	const shown = 5
	text := strings.Join(rejected[:min(len(rejected), shown)], "; ")
	if len(rejected) > shown {
		text += "; and others"
	}
	return text
}

// namedTenants names the first of many.
func namedTenants(names []string, all int) string {
	const shown = 5
	text := strings.Join(names[:min(len(names), shown)], ", ")
	switch more := all - min(len(names), shown); {
	case text == "":
		return fmt.Sprint(all)
	case more > 0:
		return fmt.Sprintf("%s and %d more", text, more)
	}
	return text
}

// as reads the object as a type of its kind.
func (o *object) as(into any) error {
	data, err := json.Marshal(o.Object)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", o, err)
	}
	return nil
}

// text and number are what is in a field, or nothing.
func (o *object) text(fields ...string) string {
	text, _, err := unstructured.NestedString(o.Object, fields...)
	if err != nil {
		return ""
	}
	return text
}

func (o *object) number(fields ...string) int64 {
	n, _, err := unstructured.NestedInt64(o.Object, fields...)
	if err != nil {
		return 0
	}
	return n
}

// common is an object without what has the same name as something else in other kinds.
func (k kind) common(content map[string]any) map[string]any {
	status, is := content["status"].(map[string]any)
	if k.gvk != tenants.gvk || !is {
		return content
	}
	content, status = maps.Clone(content), maps.Clone(status)
	delete(status, "inventory")
	content["status"] = status
	return content
}

// templateReady is how a template stands: a mistake in it, or how far its tenants are. Of one that goes it does not matter
// any more what is wrong with it.
func (o *object) templateReady() metav1.Condition {
	if valid := o.condition(tenantv1.ConditionValid); valid.Status == metav1.ConditionFalse && o.GetDeletionTimestamp() == nil {
		return valid
	}
	return o.condition(tenantv1.ConditionApplied)
}

// saysOfBefore says that an object of a tenant's kind speaks of what it was before it was deleted.
func (o *object) saysOfBefore() bool {
	return o.kind.gvk.Group == tenantv1.GroupVersion.Group && o.ready().ObservedGeneration < o.GetGeneration()
}

// tenantsWith is how many tenants go with an object. They are counted: a template's status may not know of the latest yet.
func (s *session) tenantsWith(ctx context.Context, o *object) (n int, err error) {
	if o.kind.gvk != tenantTemplates.gvk {
		return 0, nil
	}
	all, err := s.tenantsOf(ctx, o.GetNamespace(), o.text("spec", "registryId"))
	for _, t := range all {
		if t.Spec.TemplateRef == o.GetName() {
			n++
		}
	}
	return n, err
}

// tenantHead names the columns of a kind beside its names; tenantCells are what is in them.
func tenantHead(k kind) []string {
	switch k.gvk {
	case tenantRegistries.gvk:
		return []string{"TENANTS", "FAILED", "READY", "MESSAGE"}
	case tenantTemplates.gvk:
		return []string{"REGISTRY", "TENANTS", "READY", "MESSAGE"}
	case tenants.gvk:
		return []string{"UID", "TEMPLATE", "OBJECTS", "READY", "MESSAGE"}
	}
	return nil
}

// maxUID is how much of a uid stands in a table. A row may call a tenant anything; -o json has all of it.
const maxUID = 40

func tenantCells(o *object) map[string]string {
	part := func(some, all string) string {
		return fmt.Sprintf("%d/%d", o.number("status", some), o.number("status", all))
	}
	switch o.kind.gvk {
	case tenantRegistries.gvk:
		return map[string]string{"TENANTS": part("ready", "desired"), "FAILED": fmt.Sprint(o.number("status", "failed"))}
	case tenantTemplates.gvk:
		return map[string]string{"REGISTRY": o.text("spec", "registryId"), "TENANTS": part("readyTenants", "totalTenants")}
	case tenants.gvk:
		return map[string]string{"UID": firstLine(o.text("spec", "uid"), maxUID), "TEMPLATE": o.text("spec", "templateRef"), "OBJECTS": part("readyResources", "desiredResources")}
	}
	return nil
}

// tenant is the Tenant that has the object, by its owner reference or the labels of what lies elsewhere.
func (o *object) tenant() types.NamespacedName { return tenantOf(o) }

func tenantOf(o client.Object) types.NamespacedName {
	for _, ref := range o.GetOwnerReferences() {
		if gv, err := schema.ParseGroupVersion(ref.APIVersion); err == nil && gv.Group == tenantv1.GroupVersion.Group && ref.Kind == tenantv1.TenantKind {
			return types.NamespacedName{Namespace: o.GetNamespace(), Name: ref.Name}
		}
	}
	marks := o.GetLabels()
	if marks[tenantv1.LabelTenant] == "" || marks[tenantv1.LabelOrphaned] != "" {
		return types.NamespacedName{}
	}
	key := types.NamespacedName{Namespace: marks[tenantv1.LabelTenantNamespace], Name: marks[tenantv1.LabelTenant]}
	if key.Namespace == "" {
		key.Namespace = o.GetNamespace()
	}
	return key
}
