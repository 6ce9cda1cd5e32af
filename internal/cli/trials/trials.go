// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package trials

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/speculative"
)

// Parallel is the default of --parallel. The server limits how many plans execute.
const Parallel = 8

// Calls are the requests for a kind of speculative plans.
type Calls struct {
	Start  func(ctx context.Context) (content.Try, error)
	Wait   func(ctx context.Context, namespace, name, id string) (content.Try, error)
	Cancel func(ctx context.Context, namespace, name, id string) error
}

// cancelPatience is how long the cancellation of a plan may take after Ctrl-C.
const cancelPatience = 5 * time.Second

// One plans one stack and returns the answer, which has ended. An error is in the answer.
func One(ctx context.Context, namespace, name string, c Calls) content.Try {
	result, err := c.Start(ctx)
	for err == nil && !result.Ended {
		var next content.Try
		if next, err = c.Wait(ctx, namespace, name, result.Run); err == nil {
			result = next
		}
	}
	if err == nil {
		return result
	}
	if result.Run != "" {
		cancel, done := context.WithTimeout(context.WithoutCancel(ctx), cancelPatience)
		defer done()
		_ = c.Cancel(cancel, namespace, name, result.Run) // else it ends when nobody asks for it
	}
	result.Namespace, result.Name, result.Ended = namespace, name, true
	result.Outcome, result.Error = run.OutcomeFailed, err.Error()
	if ctx.Err() != nil {
		result.Outcome, result.Error = run.OutcomeCanceled, ""
	}
	return result
}

// All plans n stacks, a few at a time, and returns the answers in no order. After the end of ctx no
// more begin.
func All(ctx context.Context, n, parallel int, progress *Progress, one func(ctx context.Context, i int) content.Try) []content.Try {
	var mu sync.Mutex
	var results []content.Try
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(parallel, n) {
		workers.Go(func() {
			for i := range next {
				result := one(ctx, i)
				mu.Lock()
				results = append(results, result)
				progress.took(&result)
				mu.Unlock()
			}
		})
	}
feed:
	for i := range n {
		select {
		case next <- i:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	workers.Wait()
	return results
}

// Progress says on standard error how far the plans are.
type Progress struct {
	session     *session.Session
	total, done int
}

// NewProgress returns the progress of a number of plans.
func NewProgress(s *session.Session, total int) *Progress { return &Progress{session: s, total: total} }

func (p *Progress) took(result *content.Try) {
	p.done++
	if ui.IsTerminal(p.session.Err) {
		fmt.Fprintf(p.session.Err, "\r\x1b[K%d of %d: %s %s", p.done, p.total, result.Stack(), inWords(result))
		return
	}
	if step := max(1, p.total/10); p.done%step == 0 {
		p.session.News("%d of %d", p.done, p.total)
	}
}

// End clears the line of the progress.
func (p *Progress) End() {
	if ui.IsTerminal(p.session.Err) {
		fmt.Fprint(p.session.Err, "\r\x1b[K")
	}
}

const (
	maxShownChanges = 6
	maxShownStacks  = 5
	maxShownError   = 200
)

func inWords(t *content.Try) string {
	if t.Result() == speculative.ResultFailed {
		return "failed: " + ui.FirstLine(strings.TrimSpace(t.Error), maxShownError)
	}
	return What(&speculative.Fold([]content.Try{*t})[0])
}

// What says in words what the plans of a group have in common, without why they failed.
func What(g *speculative.Group) string {
	switch g.Result {
	case speculative.ResultChanges:
		return ui.SomeOf(g.Changes, maxShownChanges)
	case speculative.ResultUnknown:
		return (&speculative.UnknownError{Needs: g.Needs}).Error()
	}
	return g.Result
}

// Text is a group in lines, such as "3 stacks: +1 aws_subnet.this".
func Text(g *speculative.Group) string {
	text := fmt.Sprintf("%s: %s\n", ui.Count(len(g.Stacks), "stack"), What(g))
	if g.Result != speculative.ResultUnchanged {
		text += Indented(ui.SomeOf(g.Stacks, maxShownStacks))
	}
	return text + Indented(g.Error)
}

// Indented writes lines below another one; nothing for an empty text.
func Indented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		fmt.Fprintf(&b, "    %s\n", strings.TrimRight(line, "\n"))
	}
	return b.String()
}
