// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package definitions

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/applications/definition"
	"github.com/yuba-dev/yuba/internal/applications/render"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/diff"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// changed marks a changed object.
const changed diff.Action = "changed"

func newDiffCommand(a *session.App) *cobra.Command {
	from := &source{App: a}
	cmd := &cobra.Command{
		Use:   "diff {-f FILE [DEFINITION] | DEFINITION --revision N}",
		Short: "Show what a changed definition would do to all instances",
		Long: `Show what a changed definition would do, before you apply it: changes of the schema, instances that the new schema would
strand, and changes of the object behind each instance. Instances with the same changes are shown together, with NAME and NAMESPACE for their
own ones. With --revision, the same for going back to an earlier revision.

The command changes nothing. It reads the instances of all namespaces, or of the one of -n. It does not make plans: to see what
a change means in the cloud, apply it with approvePlan: manual.

The exit code is 0 without changes, 1 with changes, and higher if the server would refuse the definition or the comparison
failed.`,
		Example: "  yuba definition diff -f bucket.yaml\n  yuba definition diff -f definitions.yaml bucket --summary\n  yuba definition diff bucket --revision 2\n  yuba definition diff -f bucket.yaml -o json",
		Args:    from.arguments, ValidArgsFunction: ui.NoNames,
	}
	from.flag(cmd)
	revision := cmd.Flags().Int64("revision", 0, "compare with this revision of the definition (see \"yuba definition history\")")
	cmd.MarkFlagsOneRequired("filename", "revision")
	cmd.MarkFlagsMutuallyExclusive("filename", "revision")
	summary := cmd.Flags().Bool("summary", false, "one line for each group of instances, without the fields")
	out := ui.AddOutputFlag(cmd, "json", "yaml")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return session.DiffError(from.diff(cmd.Context(), args, *revision, *summary, out))
	}
	return cmd
}

func (s *source) diff(ctx context.Context, args []string, revision int64, summary bool, out *ui.Output) error {
	written, err := s.other(ctx, args, revision)
	if err != nil {
		return err
	}
	newer, _, err := parse(written)
	if err != nil {
		return ui.WithCode(ui.ExitDiffFailed, err)
	}
	connected, err := s.Connect()
	if err != nil {
		return err
	}
	live, err := fromAPI(ctx, connected, written.Name)
	if err != nil {
		return err
	}
	var older *definition.Definition
	var instances []*render.Instance
	if live != nil {
		if older, _ = definition.Parse(live); older == nil {
			return ui.Exitf(ui.ExitDiffFailed, "the definition %s in the API has mistakes, so there is nothing to compare with", live.Name)
		}
		if instances, err = instancesOf(ctx, connected, older); err != nil {
			return err
		}
	}
	p := previewOf(older, newer, instances)
	if out.Machine() {
		if err := out.Print(s.Out, p); err != nil {
			return err
		}
	} else {
		s.write(p, older == nil, summary)
	}
	switch {
	case p.refused():
		return ui.Exitf(ui.ExitDiffFailed, "the server would refuse the definition %s", p.Definition)
	case older == nil || p.changes():
		return ui.WithCode(ui.ExitDifferent, errors.New(""))
	}
	return nil
}

// other returns the definition to compare with: that of the file, or an earlier revision.
func (s *source) other(ctx context.Context, args []string, revision int64) (*appv1.ApplicationDefinition, error) {
	if revision == 0 {
		return s.find(ctx, args)
	}
	connected, err := s.Connect()
	if err != nil {
		return nil, err
	}
	d, ledger, err := ledgerOf(ctx, connected, args[0])
	if err != nil {
		return nil, err
	}
	r, err := pick(d.Name, ledger.Revisions(d.Name), revision)
	if err != nil {
		return nil, err
	}
	restore(d, r.Definition)
	return d, nil
}

// instancesOf lists the instances of a kind, in all namespaces or in that of -n.
func instancesOf(ctx context.Context, s *session.Session, d *definition.Definition) (instances []*render.Instance, err error) {
	kinds, err := dynamic.NewForConfig(s.Config)
	if err != nil {
		return nil, fmt.Errorf("create a client for application kinds: %w", err)
	}
	resource := appv1.InstanceVersion.WithResource(d.Application.Plural)
	list, err := kinds.Resource(resource).Namespace(s.NamespaceFlag()).List(ctx, metav1.ListOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case apierrors.IsForbidden(err) && s.NamespaceFlag() == "":
		return nil, fmt.Errorf("list the instances of kind %s in all namespaces: %w\nFor one namespace only, add -n NAMESPACE", d.Application.Kind, err)
	case err != nil:
		return nil, fmt.Errorf("list the instances of kind %s: %w", d.Application.Kind, err)
	}
	identities := map[string]string{}
	for i := range list.Items {
		o := &list.Items[i]
		spec, _, _ := unstructured.NestedMap(o.Object, "spec") //nolint:errcheck // the kind says that it is an object
		namespace := o.GetNamespace()
		if _, known := identities[namespace]; !known {
			identities[namespace] = identityOf(ctx, s, namespace)
		}
		instances = append(instances, &render.Instance{Kind: o.GetKind(), Namespace: namespace, Name: o.GetName(), UID: o.GetUID(),
			Labels: o.GetLabels(), Annotations: o.GetAnnotations(), Spec: spec, Identity: identities[namespace]})
	}
	return instances, nil
}

// identityOf is the identity that a namespace asks for. Without the right to read namespaces it is
// not known, and both sides of the comparison lack it.
func identityOf(ctx context.Context, s *session.Session, name string) string {
	namespace := &corev1.Namespace{}
	if err := s.Objects.Get(ctx, client.ObjectKey{Name: name}, namespace); err != nil {
		return ""
	}
	return namespace.Annotations[appv1.AnnotationIdentity]
}

// write prints a preview for people. Names and texts are foreign, and must not control the terminal.
func (s *source) write(p *preview, isNew, summary bool) {
	line := func(color, format string, args ...any) {
		fmt.Fprintln(s.Out, s.Paint(s.Out, color, diagnostic.Printable(fmt.Sprintf(format, args...))))
	}
	for _, text := range p.Warnings {
		line(ui.ColorYellow, "! %s", text)
	}
	if isNew {
		s.News("The definition %s is new: it declares the kind %s.", p.Definition, p.Kind)
		return
	}
	for _, text := range p.Refusals {
		line(ui.ColorRed, "✗ %s", text)
	}
	for _, change := range p.Schema {
		mark, color := "~", ui.ColorYellow
		if change.Breaking {
			mark, color = "!", ui.ColorRed
		}
		line(color, "%s spec.%s", mark, change)
	}
	for _, stranded := range p.Stranded {
		line(ui.ColorRed, "✗ %s %s/%s does not fit:", p.Kind, stranded.Namespace, stranded.Name)
		for _, f := range stranded.Findings {
			line("", "    %s", f)
		}
	}
	for _, g := range p.Groups {
		s.group(g, summary)
	}
	s.News("%d of %s would change.", p.Instances-p.Unchanged, ui.Count(p.Instances, "instance"))
}

func (s *source) group(g group, summary bool) {
	names := ui.SomeOf(g.Instances, 3)
	switch {
	case g.Problem != "":
		fmt.Fprintln(s.Out, s.Paint(s.Out, ui.ColorRed, diagnostic.Printable(fmt.Sprintf("✗ %s: %s", names, g.Problem))))
	case summary:
		fmt.Fprintln(s.Out, diagnostic.Printable(fmt.Sprintf("%s of %s: %s", g.Object, names, ui.Count(len(g.Fields), "field"))))
	default:
		c := diff.Change{Action: changed, Object: g.Object + " of " + names, Fields: g.Fields}
		c.Write(s.Out, func(_ diff.Action, text string) string {
			return s.Paint(s.Out, ui.ColorYellow, diagnostic.Printable(text))
		})
	}
}
