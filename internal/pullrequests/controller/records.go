// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strconv"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/pullrequests/comment"
)

const (
	// prefix is the folder of records in the store.
	prefix = "pullrequests"
	// maxRecord limits a record. 400 stacks with their plans have less.
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
		if err != nil {
			return nil, fmt.Errorf("read a record of PullRequestPlanner %s: %w", name, err)
		}
		p := &pull{}
		if err := json.Unmarshal(data, p); err != nil {
			// The forge knows the pull request, so that it is planned again.
			r.Log.Warn("a record of a pull request cannot be read, and is ignored", "planner", name.String(), "record", key, "error", err)
			continue
		}
		for _, s := range p.Stacks {
			if s.State == comment.Running { // its plan ended with the former server
				s.State = comment.Waiting
			}
		}
		p.stored, p.listen = data, true
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
	if bytes.Equal(data, p.stored) {
		return nil
	}
	if err := r.Store.PutBytes(ctx, keyOf(m, p), data); err != nil {
		return fmt.Errorf("write the record of pull request %d: %w", p.Now.Number, err)
	}
	p.stored = data
	return nil
}

// erase ends everything about a pull request.
func (r *Reconciler) erase(ctx context.Context, m *memory, p *pull) error {
	p.stop()
	delete(m.pulls, p.key())
	if p.stored == nil {
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
