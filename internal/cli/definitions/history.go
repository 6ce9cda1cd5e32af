// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package definitions

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/applications/revisions"
	"github.com/yuba-dev/yuba/internal/applications/serving"
	"github.com/yuba-dev/yuba/internal/cli/listing"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

func newHistoryCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "history DEFINITION",
		Short: "List the revisions of a definition",
		Long: `List the revisions of a definition, the newest first. Each change that the server accepted makes one, unless instances do not
depend on it. The server keeps the last ten. To see what a revision would change, and to go back to it, see "yuba definition
diff --revision" and "yuba definition rollback".`,
		Example: "  yuba definition history bucket\n  yuba definition history bucket --revision 2 -o yaml",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: ui.NoNames,
	}
	number := cmd.Flags().Int64("revision", 0, "only this revision")
	out := ui.AddTableFlag(cmd, "json", "yaml")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		d, ledger, err := ledgerOf(cmd.Context(), s, args[0])
		if err != nil {
			return err
		}
		list := ledger.Revisions(d.Name)
		if *number != 0 {
			one, err := pick(d.Name, list, *number)
			if err != nil {
				return err
			}
			list = []revisions.Revision{one}
		}
		slices.Reverse(list)
		return historyOf(ledger.State, list, time.Now()).Show(s.Console, out)
	})
	return cmd
}

// ledgerOf reads a definition and its revisions. These are with its kind.
func ledgerOf(ctx context.Context, s *session.Session, name string) (*appv1.ApplicationDefinition, revisions.Ledger, error) {
	d, err := fromAPI(ctx, s, name)
	if err == nil && d == nil {
		err = ui.Exitf(ui.ExitNotFound, "there is no definition %s. List them:\n    yuba definition list", name)
	}
	if err != nil {
		return nil, revisions.Ledger{}, err
	}
	objects, err := dynamic.NewForConfig(s.Config)
	if err != nil {
		return nil, revisions.Ledger{}, fmt.Errorf("create a client for kinds: %w", err)
	}
	kinds := objects.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"))
	kind, err := kinds.Get(ctx, serving.Name(d.Spec.Application.Plural), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err) || err == nil && kind.GetLabels()[appv1.LabelDefinition] != name:
		return nil, revisions.Ledger{}, ui.Exitf(ui.ExitNotFound, "the definition %s has no revisions: its kind is not served. See why:\n    yuba kubectl get applicationdefinition %s -o wide", name, name)
	case err != nil:
		return nil, revisions.Ledger{}, fmt.Errorf("read the revisions of the definition %s: %w", name, err)
	}
	return d, revisions.Read(kind.GetAnnotations()), nil
}

// pick finds a revision.
func pick(name string, list []revisions.Revision, number int64) (revisions.Revision, error) {
	for _, r := range list {
		if r.Number == number {
			return r, nil
		}
	}
	return revisions.Revision{}, ui.Exitf(ui.ExitNotFound, "the definition %s has no revision %d. List its revisions:\n    yuba definition history %s", name, number, name)
}

func historyOf(s revisions.State, list []revisions.Revision, now time.Time) *listing.List {
	l := &listing.List{None: "There are no revisions", Rows: [][]string{{"REVISION", "ACCEPTED", "GENERATION", "STATUS"}}}
	answer := make([]map[string]any, 0, len(list))
	for _, r := range list {
		accepted, generation, status := "", "", statusOf(s, r.Number)
		if !r.Accepted.IsZero() {
			accepted = ui.Age(now, r.Accepted)
		}
		if r.Generation > 0 {
			generation = strconv.FormatInt(r.Generation, 10)
		}
		l.Add(strconv.FormatInt(r.Number, 10), strconv.FormatInt(r.Number, 10), accepted, generation, status)
		answer = append(answer, map[string]any{"revision": r.Number, "accepted": r.Accepted, "generation": r.Generation, "status": status,
			"annotations": r.Definition.Annotations, "spec": r.Definition.Spec})
	}
	l.Answer = map[string]any{"items": answer}
	return l
}

// statusOf is what a revision is to the instances.
func statusOf(s revisions.State, number int64) string {
	switch {
	case number == s.Target && s.Complete():
		return "current"
	case number == s.Target:
		return "rolling out"
	case number == s.Base:
		return "base"
	}
	return ""
}
