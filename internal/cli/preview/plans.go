// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/trials"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/speculative"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// plan plans the stacks of the jobs, a few at a time.
func (v *surveyor) plan(ctx context.Context, work []job) {
	texts := make([]string, len(work))
	byName := map[string]int{}
	for i := range work {
		byName[work[i].stack.Name] = i
	}
	progress := trials.NewProgress(v.session, len(work))
	results := trials.All(ctx, len(work), v.parallel, progress, func(ctx context.Context, i int) content.Try {
		result := v.planOne(ctx, &work[i])
		if v.texts && result.Result() == speculative.ResultChanges {
			texts[i] = v.text(ctx, &result)
		}
		return result
	})
	progress.End()
	for k := range results {
		i := byName[results[k].Stack()]
		a := work[i].stack
		v.view.Stacks = append(v.view.Stacks, surveyed{Try: results[k], Path: work[i].obj.Spec.Path, Files: a.Files, More: a.More, Whole: a.Whole, Text: texts[i]})
	}
	slices.SortFunc(v.view.Stacks, func(a, b surveyed) int { return cmp.Compare(a.Stack(), b.Stack()) })
}

func (v *surveyor) planOne(ctx context.Context, j *job) content.Try {
	key := session.KeyOf(j.obj)
	failed := func(err error) content.Try {
		return content.Try{Namespace: key.Namespace, Name: key.Name, Ended: true, Outcome: run.OutcomeFailed, Error: err.Error()}
	}
	if j.stack.Missing {
		return failed(fmt.Errorf("the change removes the stack's root module %s, and the stack still names it (spec.path)", j.obj.Spec.Path))
	}
	packed, err := j.source.Open()
	if err != nil {
		return failed(err)
	}
	defer packed.Close() //nolint:errcheck // read only
	return trials.One(ctx, key.Namespace, key.Name, trials.Previews(v.session, key, content.PreviewRequest{Detailed: true}, packed))
}

// text is the plan for people. A plan that cannot be read has none: its changes are counted anyway.
func (v *surveyor) text(ctx context.Context, t *content.Try) string {
	document, err := v.session.Content.PreviewPlan(ctx, t.Namespace, t.Name, t.Run)
	if err != nil {
		return ""
	}
	p, err := plan.Decode(document)
	if err != nil {
		return ""
	}
	return plan.Render(p, plan.RenderOptions{})
}

const (
	maxShownFiles   = 3
	maxShownChanges = 6
	// maxShownWhat limits a cell: the whole errors are below the table.
	maxShownWhat = 60
)

// show prints the survey for people.
func (v *surveyView) show(s *session.Session, out *ui.Output) error {
	if v.Partial {
		s.News("You may list objects of namespace %s only, so the stacks of others are missing.", s.Namespace)
	}
	if len(v.Stacks) > 0 {
		rows := [][]string{{"STACK", "PLAN", "CHANGES", "BECAUSE"}}
		for i := range v.Stacks {
			t := &v.Stacks[i]
			what := t.what()
			if !out.Wide() {
				what = ui.FirstLine(what, maxShownWhat)
			}
			rows = append(rows, []string{t.Stack(), t.word(), what, t.because()})
		}
		if err := s.Table(rows, out); err != nil {
			return err
		}
		v.problems(s)
	}
	if err := v.showReached(s, out); err != nil {
		return err
	}
	v.news(s)
	return nil
}

// news says what is not in the tables.
func (v *surveyView) news(s *session.Session) {
	for _, k := range v.Skipped {
		s.News("Not planned: %s of GitRepository %s: %s.", ui.SomeOf(k.Stacks, maxShownChanges), k.Name, k.Why)
	}
	if len(v.Kustomizations) > 0 {
		s.News("Files of these Kustomizations differ, and the objects that they make are not built here: %s. Compare them:\n    yuba diff kustomization NAME --path DIR",
			ui.SomeOf(v.Kustomizations, maxShownChanges))
	}
	w := v.worst()
	switch {
	case len(v.Stacks) == 0 && v.Unchanged == 0:
		s.News("No stack follows the branch %s of this repository.", v.Target)
	case len(v.Stacks) == 0:
		s.News("Nothing to plan: the change reaches none of the %s that follow %s.", ui.Count(v.Unchanged, "stack"), v.Target)
	default:
		s.News("%s planned: %d with changes, %d failed, %d refused by policies. The change does not reach %s.",
			ui.Count(len(v.Stacks), "stack"), w.changed, w.failed, w.refused, ui.Count(v.Unchanged, "other stack"))
	}
}

// word sums a plan up.
func (t *surveyed) word() string {
	if t.Policy.Refused() {
		return "refused"
	}
	return t.Result()
}

// what says what a plan changes, or why there is none.
func (t *surveyed) what() string {
	switch t.Result() {
	case speculative.ResultFailed:
		return strings.TrimSpace(t.Error)
	case speculative.ResultChanges, speculative.ResultUnknown:
		return trials.What(&speculative.Fold([]content.Try{t.Try})[0])
	}
	return ""
}

func (t *surveyed) because() string {
	text := ui.SomeOf(t.Files, maxShownFiles)
	if t.More > 0 {
		text += fmt.Sprintf(" and %d more", t.More)
	}
	return text
}

// problems prints the errors with their places, and what policies find.
func (v *surveyView) problems(s *session.Session) {
	for i := range v.Stacks {
		t := &v.Stacks[i]
		errors := t.Problems.Errors()
		for _, d := range errors {
			d.File = t.inRepository(d.File)
			fmt.Fprintf(s.Out, "\n%s: %s\n", t.Stack(), d.String())
		}
		if len(errors) == 0 && t.Result() == speculative.ResultFailed {
			fmt.Fprintf(s.Out, "\n%s: %s\n", t.Stack(), strings.TrimSpace(t.Error))
		}
		if t.Policy != nil && (t.Policy.Refused() || len(t.Policy.Findings) > 0) {
			fmt.Fprintf(s.Out, "\n%s: %s\n", t.Stack(), policyText(t.Policy))
		}
	}
}

// inRepository is the path of a file of the root module in the repository; empty if it is not in it.
func (t *surveyed) inRepository(file string) string {
	if file == "" || path.IsAbs(file) {
		return ""
	}
	full := path.Join(strings.TrimPrefix(path.Join("/", t.Path), "/"), file)
	if full == ".." || strings.HasPrefix(full, "../") || strings.HasPrefix(file, ".terraform/") {
		return ""
	}
	return full
}
