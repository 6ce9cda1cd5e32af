// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reshape

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// Preview is a speculative plan of a member on its proposed state.
type Preview struct {
	Run string    `json:"run"`
	By  string    `json:"by,omitempty"`
	At  time.Time `json:"at,omitzero"`
	// Program is the one that the stack had when the plan began. Elsewhere says that another one was planned:
	// an uploaded directory, or another revision.
	Program   Program `json:"program,omitzero"`
	Elsewhere bool    `json:"elsewhere,omitempty"`
	// Error says why there is no plan. Digest identifies the changes, of which there are none unless Changes.
	Error   string `json:"error,omitempty"`
	Changes bool   `json:"changes,omitempty"`
	Digest  string `json:"digest,omitempty"`
}

// Note records the last preview of a member. That of a proposal that somebody applies meanwhile is dropped.
func (d *Desk) Note(ctx context.Context, namespace, id, stack string, p Preview) error {
	r, err := d.store().load(ctx, namespace, id)
	if err != nil {
		return err
	}
	if _, ok := r.Member(stack); !ok || r.Phase != Proposed {
		return nil
	}
	p.At, p.Error = d.now(), shorten.Fit(p.Error, maxError)
	if err := d.store().put(ctx, r, planned+stack, p); err != nil {
		return err
	}
	if err := d.step("noted"); err != nil {
		return err
	}
	// Whoever deleted the proposal meanwhile did not see this preview.
	_, err = d.store().load(ctx, namespace, id)
	if errors.Is(err, ErrNotFound) {
		err = errors.Join(err, d.store().remove(ctx, d.store().place(namespace, id, planned+stack)))
	}
	return err
}

// maxPreview bounds a preview, of which only maxError can be long.
const (
	maxPreview = 1 << 20
	maxError   = 4000
)

// Previews returns the last preview of each member that has one.
func (d *Desk) Previews(ctx context.Context, r *Record) (map[string]Preview, error) {
	found := map[string]Preview{}
	for _, name := range r.Stacks() {
		p, err := d.preview(ctx, r, name)
		if errors.Is(err, blob.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		found[name] = p
	}
	return found, nil
}

// preview returns the last preview of a member.
func (d *Desk) preview(ctx context.Context, r *Record, name string) (p Preview, err error) {
	text, err := d.store().blobs.Get(ctx, d.store().place(r.Namespace, r.ID, planned+name), maxPreview)
	var large *blob.TooLargeError
	if err == nil && json.Unmarshal(text, &p) != nil || errors.As(err, &large) {
		err = errDamaged
	}
	if err != nil {
		return p, fmt.Errorf("read the preview of %s/%s in the refactoring %s: %w", r.Namespace, name, r.ID, err)
	}
	return p, nil
}

// Judge refuses a proposal unless each of its members was previewed with the program that it has now, or
// with another one while it is suspended. A preview that changes something has to be accepted by its
// digest. stacks are the members as they are now, accepted are digests by stack.
func (r *Record) Judge(stacks []Stack, previews map[string]Preview, accepted map[string]string) error {
	var problems []string
	for _, s := range stacks {
		p, ok := previews[s.Key.Stack]
		digest, named := accepted[s.Key.Stack]
		problem := ""
		switch {
		case !ok:
			problem = "was not previewed"
		case p.Error != "":
			problem = "cannot be planned: " + p.Error
		case p.Program != s.Program:
			problem = "was previewed with another specification or source revision than it has now"
		case p.Elsewhere && !s.Suspended:
			problem = "was previewed with another program than it has, and is not suspended: its next run would undo the moves"
		case named && digest != p.Digest:
			problem = "has a later preview than the one that was accepted"
		case p.Changes && !named:
			problem = "has changes in its preview, which the request does not accept"
		}
		if problem != "" {
			problems = append(problems, "the stack "+s.Key.String()+" "+problem)
		}
	}
	if len(problems) == 0 {
		return nil
	}
	slices.Sort(problems)
	if more := len(problems) - maxProblems; more > 0 {
		problems = append(problems[:maxProblems], fmt.Sprintf("and %d more", more))
	}
	return refused("apply the refactoring %s: %s. Nothing was changed. Preview it again and apply it:\n    yuba refactor apply FILE -n %s\nIf it must be applied without plans, suspend its stacks and add --without-preview", r.ID, strings.Join(problems, "; "), r.Namespace)
}

const maxProblems = 5
