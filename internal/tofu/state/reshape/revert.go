// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reshape

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/yuba-dev/yuba/internal/tofu/state"
	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

// revert gives the members that were written their former content again. It ends although one of them
// cannot be restored: that would keep the others locked. The record names it.
func (d *Desk) revert(ctx context.Context, r *Record) error {
	for i := range r.Members {
		m := &r.Members[i]
		left, err := d.restore(ctx, r, m)
		if err != nil {
			return err
		}
		if m.NotRestored = left; left != "" {
			continue
		}
		if err := d.step("restored " + m.Stack); err != nil {
			return err
		}
	}
	if err := d.unlock(ctx, r); err != nil {
		return err
	}
	if err := d.enter(ctx, r, Failed, r.reverted()); err != nil {
		return err
	}
	d.tell(r)
	return refused("apply the refactoring %s: %s", r.ID, r.Message)
}

// reverted describes the states after a revert. Until then the message is the cause.
func (r *Record) reverted() string {
	var left []string
	for _, m := range r.Members {
		if m.NotRestored != "" {
			left = append(left, fmt.Sprintf("\n%s: %s. Find the version to go back to, if any:\n    yuba state history %s/%s", m.Stack, m.NotRestored, r.Namespace, m.Stack))
		}
	}
	if left == nil {
		return "the states were restored, because " + r.Message
	}
	return fmt.Sprintf("%d of %d states could not be restored. They were to be, because %s%s", len(left), len(r.Members), r.Message, strings.Join(left, ""))
}

// restore restores a member. It returns why that is not possible, or an error if it may be later.
func (d *Desk) restore(ctx context.Context, r *Record, m *Member) (left string, err error) {
	now, err := d.States.Read(ctx, r.key(m))
	if state.Lasting(err) {
		return "its state is not readable: " + err.Error(), nil
	}
	if err != nil {
		return "", err
	}
	if now.Data == nil && m.Before.Digest == "" || now.Data != nil && now.Digest == m.Before.Digest {
		return "", nil // it was not written
	}
	const foreign = "somebody else has written it meanwhile, in spite of the lock"
	data, err := d.intactFormer(ctx, r, m)
	if err == nil {
		data, err = statefile.WithSerial(data, m.After.Serial+1)
	}
	switch {
	case err == nil && now.Digest == statefile.Digest(data):
		return "", nil // restored by an earlier server
	case err != nil && !hopeless(err): // it may be restored already, which cannot be told without its former content
		return "", err
	case now.Digest != m.After.Digest:
		return foreign, nil
	case err != nil:
		return "it has the new content, and its former content is lost: " + err.Error(), nil
	}
	_, err = d.put(ctx, r.key(m), state.WriteRequest{Data: data, Previous: m.After, Labels: m.Labels, RunID: r.ID, Reason: "restored: " + r.Reason()})
	var moved *state.ConflictError
	if errors.As(err, &moved) {
		return foreign, nil
	}
	if hopeless(err) { // such as an API that refuses the write: the others must not stay locked for it
		return "it has the new content, and its former one cannot be written: " + err.Error(), nil
	}
	return "", err
}

// intactFormer is formerOf. If that blob is gone or damaged, it takes the version of the state with the
// same content.
func (d *Desk) intactFormer(ctx context.Context, r *Record, m *Member) ([]byte, error) {
	data, err := d.formerOf(ctx, r, m)
	if !hopeless(err) {
		return data, err
	}
	for v, problem := range d.States.Versions(ctx, r.key(m)) {
		if problem != nil {
			if state.Lasting(problem) {
				continue
			}
			return nil, problem
		}
		if v.Digest != m.Before.Digest {
			continue
		}
		_, data, problem := d.States.ReadVersion(ctx, r.key(m), v.ID)
		if problem == nil {
			return data, nil
		}
		if !hopeless(problem) && !errors.Is(problem, state.ErrNoVersion) {
			return nil, problem
		}
	}
	return nil, err
}

// Outcome describes for one member how a refactoring ended.
func (r *Record) Outcome(m *Member) string {
	switch {
	case r.Phase != Failed:
		return fmt.Sprintf("%s; the state has %d resource instances now, and had %d", r.Reason(), m.Has, m.Had)
	case m.NotRestored != "":
		return fmt.Sprintf("the state was not restored after a failure: %s. See yuba state history %s/%s. It was the %s", m.NotRestored, r.Namespace, m.Stack, r.Reason())
	default:
		return fmt.Sprintf("%s; it failed, and the state was restored (%d instances planned, %d before)", r.Reason(), m.Has, m.Had)
	}
}
