// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/pullrequests/command"
	"github.com/yuba-dev/yuba/internal/pullrequests/comment"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

// maxDone limits the handled comments that are remembered: those of the newest second matter.
const maxDone = 200

// obey reads new comments, and does what their commands say.
func (r *Reconciler) obey(ctx context.Context, m *memory, l *link, p *pull) error {
	if !p.listen || p.Now.State != forge.Open {
		return nil
	}
	began := r.now()
	comments, err := l.forge.Comments(ctx, p.Now.Number, p.Read)
	if err != nil {
		return err
	}
	var answers []string
	for _, c := range comments {
		if c.Mine || slices.Contains(p.Done, c.ID) {
			continue
		}
		commands, wrong := command.Parse(c.Text)
		if len(commands)+len(wrong) > 0 {
			said, err := r.command(ctx, m, l, p, c, commands, wrong)
			if err != nil {
				return err // before anything was done: the comment is read again
			}
			answers = append(answers, said...)
		}
		p.Done = append(p.Done, c.ID)
		// An edited comment is a new one only for those who read it again: it was handled.
		if at := c.Created; at.After(p.Read) {
			p.Read = at
		}
	}
	p.Done = p.Done[max(len(p.Done)-maxDone, 0):]
	p.listen = false
	p.heard(began)
	if len(answers) == 0 {
		return nil
	}
	return r.answer(ctx, m, l, p, answers)
}

// grain is the coarsest step of a forge's times of changes.
const grain = time.Second

// unheard reports whether there may be comments that were not read, as a pull request changed at a time. Comments of one
// second are one change: whoever has read the first has not read the others.
func (p *pull) unheard(updated, now time.Time) bool {
	return updated.IsZero() || !updated.Equal(p.Heard) || !p.settled && now.Sub(p.heardAt) > grain
}

// heard notes that the comments were read.
func (p *pull) heard(at time.Time) {
	if !p.Now.Updated.Equal(p.Heard) {
		p.Heard, p.heardAt, p.settled = p.Now.Updated, at, false
		return
	}
	p.settled = p.settled || at.Sub(p.heardAt) > grain
}

// command does what one comment says, and returns the answers.
func (r *Reconciler) command(ctx context.Context, m *memory, l *link, p *pull, c forge.Comment, commands []command.Command, wrong []command.Problem) ([]string, error) {
	var answers []string
	if edited(c) {
		return []string{"Commands in edited comments are ignored, as others than their authors can edit them. Write a new comment."}, nil
	}
	for _, w := range wrong {
		answers = append(answers, fmt.Sprintf("`%s`: %s", w.Word, w.Reason))
	}
	right := forge.None
	if len(commands) > 0 {
		var err error
		var unsupported *forge.UnsupportedError
		if right, err = l.forge.Right(ctx, c.Author); errors.As(err, &unsupported) {
			return []string{"This forge does not say who may write to the repository, so that commands are not accepted here."}, nil
		} else if err != nil {
			return nil, err
		}
	}
	good := len(wrong) == 0
	for _, cmd := range commands {
		answer, ok := "", false
		if right < cmd.Verb.Right() {
			answer = fmt.Sprintf("`/yuba %s` needs the right to %s in this repository.", cmd.Verb, cmd.Verb.Right())
		} else if cmd.Verb == command.Apply || cmd.Verb == command.Unlock {
			var err error
			if answer, ok, err = r.applyCommand(ctx, m, l, p, c.Author, c.Created, cmd); err != nil {
				return nil, err
			}
		} else {
			answer, ok = p.command(c.Author, c.Created, cmd)
		}
		if answer != "" {
			answers = append(answers, answer)
		}
		good = good && ok
		r.Log.Info("command in a pull request", "source", p.Source, "pullRequest", p.Now.Number, "command", string(cmd.Verb), "by", c.Author.Name, "right", right.String(), "done", ok)
	}
	if l.forge.Limits().Reactions {
		reaction := forge.Seen
		if !good {
			reaction = forge.Bad
		}
		// A reaction is a courtesy: in a locked conversation it fails for ever, and the command is done.
		if err := l.forge.React(ctx, p.Now.Number, c.ID, reaction); err != nil {
			limited(l, err)
			r.Log.Warn("cannot react to a command", "source", p.Source, "pullRequest", p.Now.Number, "error", err)
		}
	}
	return answers, nil
}

// edited reports whether somebody may have changed a comment. A forge's own two times may differ a little.
func edited(c forge.Comment) bool { return c.Updated.Sub(c.Created) >= time.Second }

// command does one command of somebody who may use it. The answer is Markdown without foreign text.
func (p *pull) command(by forge.User, at time.Time, c command.Command) (answer string, ok bool) {
	switch c.Verb {
	case command.Help:
		return command.HelpText(), true
	case command.Plan:
		if refusal := p.refusal(c); refusal != "" {
			return refusal, false
		}
		return p.planNow(c)
	case command.Replan:
		if refusal := p.refusal(c); refusal != "" {
			return refusal, false
		}
		if unknown := p.replan(c.Stacks); len(unknown) > 0 {
			return notChanged(unknown), false
		}
		return p.planNow(command.Command{})
	case command.Approve:
		return p.approve(by, at, c)
	case command.Impact:
		return p.askForImpact()
	}
	return fmt.Sprintf("`/yuba %s` cannot be used here: `/yuba help` lists the commands.", c.Verb), false
}

// refusal says why the head is not planned. The head of a fork is one that the command names: only its author knows which
// one he has looked at, and there may have been a push since.
func (p *pull) refusal(c command.Command) string {
	unseen := p.Now.Fork && p.Allowed != p.Now.Head.Commit
	switch {
	case c.Commit == "" && unseen:
		return "Name the commit of the fork that you have looked at: `/yuba " + string(c.Verb) + " --commit COMMIT`, with all digits."
	case c.Commit != "" && !p.names(c):
		return "The present commit is another one, or the command does not have all its digits. Look at the present one, and repeat the command."
	case unseen:
		p.Allowed = p.Now.Head.Commit
	}
	return ""
}

// names reports whether a command names the present head, with all digits that the forge tells.
func (p *pull) names(c command.Command) bool {
	return p.Now.Head.Commit != "" && strings.HasPrefix(c.Commit, p.Now.Head.Commit)
}

// planNow plans what has no plan.
func (p *pull) planNow(c command.Command) (string, bool) {
	var unknown []string
	for _, name := range c.Stacks {
		if p.find(name) == nil {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 && p.Found {
		return notChanged(unknown), false
	}
	for _, s := range p.Stacks {
		wanted := len(c.Stacks) == 0 || slices.ContainsFunc(c.Stacks, s.is)
		if wanted && s.State == comment.Failed && s.cancel == nil {
			s.again()
		}
	}
	return "", true
}

// approve takes the approval of the plans shown.
func (p *pull) approve(by forge.User, at time.Time, c command.Command) (string, bool) {
	waiting, running := p.numbers()
	switch {
	case by.Is(p.Now.Author):
		return "The author of a pull request cannot approve it.", false
	case p.Head == "" || p.Head != p.Now.Head.Commit || !p.Found || waiting+running > 0:
		return "The plans have not ended. Look at them first, and repeat the command.", false
	case c.Commit == "":
		return "Name the commit whose plans you approve: `/yuba approve --commit COMMIT`. The comment with the plans has the command.", false
	case !p.names(c):
		return "The plans are of another commit, or the command does not have all its digits. Look at them, and repeat the command.", false
	case len(c.Stacks) > 0:
		return "The approval is of all plans of the pull request: leave the names out.", false
	case p.shown().IsZero():
		return "No plan is shown completely here, so that none can be approved before the merge. Approve the plans on the server after it.", false
	case c.Plans != "" && c.Plans != p.digest():
		return "The plans have changed since you looked at them. Look at the present ones, and repeat the command.", false
	case c.Plans == "" && !p.saw(at): // the digest of plans is known from where they are shown
		return "The plans were shown after you wrote this. Look at them, and repeat the command.", false
	}
	p.Approvals = append(slices.DeleteFunc(p.Approvals, func(a approval) bool { return a.Who.Is(by) }), approval{by, at, p.digest()})
	return "", true
}

func notChanged(names []string) string {
	return "This pull request does not change `" + strings.Join(names, "`, `") + "`."
}

// find finds a stack by its name, with or without a namespace.
func (p *pull) find(name string) *stack {
	for _, s := range p.Stacks {
		if s.is(name) {
			return s
		}
	}
	return nil
}

func (s *stack) is(name string) bool {
	return s.Name == name || !strings.Contains(name, "/") && strings.HasSuffix(s.Name, "/"+name)
}

// answer writes the answers to the newest commands: a comment beside the one with the plans.
func (r *Reconciler) answer(ctx context.Context, m *memory, l *link, p *pull, answers []string) error {
	marker := comment.Mark(markerOf(m) + ":answers")
	text := strings.Join(answers, "\n\n") + "\n"
	if l.forge.Limits().Hidden {
		text += "\n<!-- " + marker + " -->\n"
	} else {
		text += "\n`" + marker + "`\n"
	}
	_, err := l.forge.SetComment(ctx, p.Now.Number, marker, text)
	return err
}
