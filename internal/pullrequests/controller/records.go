// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/pullrequests/comment"
)

const (
	// prefix is the folder of records in the store.
	prefix = "pullrequests"
	// maxRecord limits a record. 400 stacks with their plans have less. A pull request with a larger one is planned
	// anew by a new server.
	maxRecord = 32 << 20
)

func keyOf(m *memory, p *pull) string {
	return path.Join(prefix, m.uid, p.Source, strconv.Itoa(p.Now.Number)+".json")
}

// recall returns what is known of a planner. A new server reads the records first.
func (r *Reconciler) recall(ctx context.Context, o *yubav1.PullRequestPlanner) (*memory, error) {
	name := client.ObjectKeyFromObject(o)
	if m := r.memories.get(name, string(o.UID)); m != nil {
		m.wants = time.Time{}
		return m, nil
	}
	m := &memory{name: name, uid: string(o.UID), links: map[string]*link{}, pulls: map[pullKey]*pull{}, merged: map[string]bool{}, handled: o.Status.GetLastHandledReconcileRequest()}
	keys, err := r.Store.Keys(ctx, path.Join(prefix, m.uid)+"/")
	if err != nil {
		return nil, fmt.Errorf("list the records of PullRequestPlanner %s: %w", name, err)
	}
	for _, key := range keys {
		data, err := r.Store.Get(ctx, key, maxRecord)
		p := &pull{}
		var large *TooLargeError
		switch {
		case err == nil:
			err = json.Unmarshal(data, p)
		case !errors.As(err, &large):
			return nil, fmt.Errorf("read a record of PullRequestPlanner %s: %w", name, err)
		}
		if err != nil {
			// The forge knows the pull request, so that it is planned again.
			r.Log.Warn("a record of a pull request cannot be read, and is removed", "planner", name.String(), "record", key, "error", err)
			if err := r.Store.Delete(ctx, key); err != nil {
				r.Log.Warn("cannot remove a record of a pull request", "record", key, "error", err)
			}
			continue
		}
		for _, s := range p.Stacks {
			if s.State == comment.Running { // its plan ended with the former server
				s.State = comment.Waiting
			}
		}
		p.stored, p.listen = sumOf(data), true
		m.pulls[p.key()] = p
	}
	if former := r.memories.add(m); former != nil {
		former.stop()
		return m, r.eraseAll(ctx, former)
	}
	return m, nil
}

// store writes the record of a pull request, if it differs.
func (r *Reconciler) store(ctx context.Context, m *memory, p *pull) error {
	data, err := p.encode()
	if err != nil {
		return fmt.Errorf("write the record of pull request %d: %w", p.Now.Number, err)
	}
	sum := sumOf(data)
	if sum == p.stored {
		return nil
	}
	if len(data) > maxRecord {
		// An older record would say what is wrong by now.
		r.Log.Warn("the record of a pull request is too large to be stored", "planner", m.name.String(), "pullRequest", p.Now.Number, "bytes", len(data))
		err = r.Store.Delete(ctx, keyOf(m, p))
	} else {
		err = r.Store.PutBytes(ctx, keyOf(m, p), data)
	}
	if err != nil {
		return fmt.Errorf("write the record of pull request %d: %w", p.Now.Number, err)
	}
	p.stored = sum
	return nil
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return string(sum[:])
}

// erase ends everything about a pull request.
func (r *Reconciler) erase(ctx context.Context, m *memory, p *pull) error {
	p.stop()
	delete(m.pulls, p.key())
	if p.stored == "" {
		return nil
	}
	return r.Store.Delete(ctx, keyOf(m, p))
}

func (r *Reconciler) eraseAll(ctx context.Context, m *memory) error {
	for _, p := range m.sorted() {
		if err := r.erase(ctx, m, p); err != nil {
			return err
		}
	}
	return nil
}

// sweep removes what planners left that were deleted while no server ran: records, locks and pins. It is a start's work; a
// failure only leaves them.
func (r *Reconciler) sweep(ctx context.Context) error {
	if err := r.sweepOnce(ctx); err != nil {
		// A server that is stopped right after its start loses its API before it tells us.
		select {
		case <-ctx.Done():
		case <-time.After(stopPatience):
			r.Log.Warn("cannot clean up after planners of pull requests that are gone; the next start tries again", "error", err)
		}
	}
	return nil
}

// stopPatience is longer than a server takes to tell its controllers that it stops.
const stopPatience = 5 * time.Second

func (r *Reconciler) sweepOnce(ctx context.Context) error {
	// The keys first: a planner whose record is among them is in the later list, unless it is gone.
	keys, err := r.Store.Keys(ctx, prefix+"/")
	if err != nil {
		return fmt.Errorf("list the records of pull requests: %w", err)
	}
	var list yubav1.PullRequestPlannerList
	if err := r.Reader.List(ctx, &list); err != nil {
		return fmt.Errorf("list the PullRequestPlanners: %w", err)
	}
	problems := []error{r.releaseOrphans(ctx)}
	if problems[0] == nil { // else stacks may run the pins
		problems = append(problems, r.unpinAll(ctx, unknownTo(list.Items)))
	}
	for _, key := range orphans(keys, list.Items) {
		if err := r.Store.Delete(ctx, key); err != nil {
			problems = append(problems, fmt.Errorf("remove the record %s: %w", key, err))
		}
	}
	return errors.Join(problems...)
}

// orphans are the keys of records that belong to none of the planners.
func orphans(keys []string, planners []yubav1.PullRequestPlanner) []string {
	unknown := unknownTo(planners)
	return slices.DeleteFunc(slices.Clone(keys), func(key string) bool {
		uid, _, _ := strings.Cut(strings.TrimPrefix(key, prefix+"/"), "/")
		return !unknown(uid)
	})
}

// unknownTo reports whether an UID is of none of the planners.
func unknownTo(planners []yubav1.PullRequestPlanner) func(uid string) bool {
	known := map[string]bool{}
	for i := range planners {
		known[string(planners[i].UID)] = true
	}
	return func(uid string) bool { return !known[uid] }
}
