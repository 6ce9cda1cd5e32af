// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/trials"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/runs/speculative"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// oneView is the answer of a preview of one stack, as in -o json.
type oneView struct {
	content.Try `json:",inline"`
	Plan        *plan.Plan `json:"plan,omitempty"`
}

// one plans one stack with a directory, and shows the log and the plan.
func (o *options) one(cmd *cobra.Command, s *session.Session) (worst, error) {
	ctx := cmd.Context()
	key, err := s.Stack(cmd, o.stack)
	if err != nil {
		return worst{}, err
	}
	t, err := s.Get(ctx, key)
	if err != nil {
		return worst{}, s.StackError("preview", key, err)
	}
	dir := o.dir
	if _, inline := t.InlineProgram(); !inline {
		if dir, err = rootOf(o.dir, t.Spec.Path); err != nil {
			return worst{}, fmt.Errorf("preview %s: %w", key, err)
		}
	}
	packed, err := trials.Pack(ctx, dir)
	if err != nil {
		return worst{}, err
	}
	defer func() { err = errors.Join(err, packed.Close(), os.Remove(packed.Name())) }()
	s.News("Planning %s with the directory %q. Nothing is applied.", key, dir)
	view, log := oneView{}, &logShown{session: s, key: key}
	calls := trials.Previews(s, key, content.PreviewRequest{Detailed: true}, packed)
	start := calls.Start
	calls.Start = func(ctx context.Context) (content.Try, error) {
		result, err := start(ctx)
		if err == nil && !result.Ended {
			log.follow(ctx, result.Run)
		}
		return result, err
	}
	view.Try = trials.One(ctx, key.Namespace, key.Name, calls)
	log.end()
	if ctx.Err() != nil {
		return worst{}, ui.Exitf(ui.ExitInterrupted, "interrupted: the plan of %s was canceled", key)
	}
	if view.Result() == speculative.ResultChanges || view.Result() == speculative.ResultUnchanged {
		document, err := s.Content.PreviewPlan(ctx, key.Namespace, key.Name, view.Run)
		if err == nil {
			view.Plan, err = plan.Decode(document)
		}
		if err != nil {
			return worst{}, fmt.Errorf("read the plan of %s: %w", key, err)
		}
	}
	if o.out.Machine() {
		err = o.out.Print(s.Out, view)
	} else {
		view.show(s)
	}
	return worstOf([]content.Try{view.Try}), errors.Join(err, view.problem(log.errors))
}

// show prints the plan, and what policies say.
func (v *oneView) show(s *session.Session) {
	if v.Plan != nil {
		fmt.Fprint(s.Out, plan.Render(v.Plan, plan.RenderOptions{Color: s.Colors(s.Out)}))
	}
	if v.Policy != nil {
		s.News("%s", policyText(v.Policy))
	}
}

// problem says why there is no plan, unless the log did. nil if there is one.
func (v *oneView) problem(explained int) error {
	stack := v.Stack()
	switch v.Result() {
	case speculative.ResultUnknown:
		return ui.Exitf(ui.ExitWaiting, "%s %s", stack, (&speculative.UnknownError{Needs: v.Needs}).Error())
	case speculative.ResultCanceled:
		return ui.Exitf(ui.ExitRunFailed, "the plan of %s was canceled on the server", stack)
	case speculative.ResultFailed:
		switch {
		case v.Policy.Refused():
			return ui.Exitf(ui.ExitRefused, "policies refuse the plan of %s: %s", stack, strings.TrimSpace(v.Error))
		case explained > 0:
			return ui.Exitf(ui.ExitRunFailed, "the plan of %s failed", stack)
		}
		return ui.Exitf(ui.ExitRunFailed, "the plan of %s failed: %s", stack, strings.TrimSpace(v.Error))
	}
	return nil
}

// maxFindings limits the shown findings of policies.
const maxFindings = 20

// policyText says what policies make of a plan.
func policyText(v *speculative.Verdict) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Policies: %s", strings.ToLower(v.Decision))
	if v.Message != "" {
		fmt.Fprintf(&b, ": %s", v.Message)
	}
	for i, f := range v.Findings {
		if i == maxFindings {
			fmt.Fprintf(&b, "\n    and %d more", len(v.Findings)-i)
			break
		}
		fmt.Fprintf(&b, "\n    %s: %s", f.Effect, findingText(f))
	}
	return b.String()
}

func findingText(f speculative.Finding) string {
	text := f.Policy + " " + f.Rule + ": " + f.Message
	if f.Address != "" {
		text = f.Address + ": " + text
	}
	return text
}

// logShown shows the log of a speculative plan while it grows.
type logShown struct {
	session *session.Session
	key     types.NamespacedName
	done    chan struct{}
	errors  int
}

func (l *logShown) follow(ctx context.Context, id string) {
	l.done = make(chan struct{})
	view := &ui.RunView{Writer: l.session.Err, Color: l.session.Colors(l.session.Err), HidePlan: true}
	reader := &session.LogReader{Session: l.session, Stack: l.key, Options: content.LogOptions{Run: id, Follow: true}, Line: view.Line,
		Open: func(ctx context.Context) (io.ReadCloser, error) {
			return l.session.Content.PreviewLog(ctx, l.key.Namespace, l.key.Name, id)
		}}
	go func() {
		defer close(l.done)
		_ = reader.Run(ctx) // the answer says why a plan failed, too
		l.errors = view.Errors
	}()
}

// end waits until the log is shown.
func (l *logShown) end() {
	if l.done != nil {
		<-l.done
	}
}

// rootOf is the root of a source, if dir is it or the directory of a root module in it.
func rootOf(dir, spec string) (string, error) {
	below := strings.TrimPrefix(path.Join("/", filepath.ToSlash(spec)), "/")
	if info, err := os.Stat(dir); err != nil {
		return "", err
	} else if !info.IsDir() {
		return "", fmt.Errorf("%s is not a directory", dir)
	}
	if below == "" {
		return dir, nil
	}
	if info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(below))); err == nil && info.IsDir() {
		return dir, nil
	}
	full, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if root, found := strings.CutSuffix(full, string(filepath.Separator)+filepath.FromSlash(below)); found {
		return filepath.Clean(root + string(filepath.Separator)), nil
	}
	return "", fmt.Errorf("the stack's root module is in %q of its source (spec.path), and %s neither has that directory nor is it. Name the source's root, or that directory", below, dir)
}
