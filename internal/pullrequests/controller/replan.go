// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"bytes"

	"github.com/yuba-dev/yuba/internal/pullrequests/comment"
)

// former is what was shown and approved of a head whose stacks are found anew.
type former struct {
	head      string
	stacks    []*stack
	approvals []approval
	apply     *applying
}

// replan makes plans be made again, of all stacks unless some are named.
func (p *pull) replan(names []string) (unknown []string) {
	if len(names) == 0 {
		kept := p.former
		if p.Found {
			kept = &former{p.Head, p.Stacks, p.Approvals, p.Apply}
		}
		p.clear()
		p.former = kept
		return nil
	}
	for _, name := range names {
		s := p.find(name)
		if s == nil {
			unknown = append(unknown, name)
			continue
		}
		if s.cancel != nil {
			s.cancel()
			s.cancel = nil
		}
		if s.State != comment.Held && (s.Fate != comment.Deleted || s.Manifest != nil) {
			s.again()
		}
	}
	return unknown
}

// begin forgets what is known of another head, and keeps what people approved of this one.
func (p *pull) begin(head string) {
	if p.Head != head {
		kept := p.former
		p.clear()
		if kept != nil && kept.head == head {
			p.former = kept
		}
	}
	p.Head = head
}

// recall takes back what people approved before the stacks of the head were found anew. Approvals name the plans that they
// are about: they count again only once equal ones are shown.
func (p *pull) recall() {
	was := p.former
	p.former = nil
	if was == nil {
		return
	}
	p.Approvals, p.Apply = was.approvals, was.apply
	for _, o := range was.stacks {
		s := p.find(o.Name)
		if s == nil || s.Fate != o.Fate || s.Via != o.Via || s.Elsewhere != o.Elsewhere || s.Files != o.Files || !bytes.Equal(s.Manifest, o.Manifest) {
			continue
		}
		s.Former, s.FormerShown = o.latest()
	}
}
