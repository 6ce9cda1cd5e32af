// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/registry/usage"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// usageKeeper learns from ended runs which stack uses which version of modules and providers, and
// keeps that in one small blob for each stack: a new server reads those, and no records.
type usageKeeper struct {
	engine *engine
	index  *usage.Index

	mu sync.Mutex
	// dirty are the entries to store.
	dirty map[usage.Stack]usage.Entry
	// told are the notices about the versions of each stack, when they were last compared.
	told map[run.Stack]string
	wake chan struct{}
}

func newUsageKeeper(e *engine) *usageKeeper {
	return &usageKeeper{engine: e, index: usage.NewIndex(), dirty: map[usage.Stack]usage.Entry{}, told: map[run.Stack]string{}, wake: make(chan struct{}, 1)}
}

const (
	// usesPrefix is the common prefix of the blobs.
	usesPrefix = "uses/"
	maxUses    = 4 << 20
	// usageEvery is the interval of looking for notices and for deleted stacks. Both are in memory.
	usageEvery = 10 * time.Second
	// usageFlush is how long the last entries may take to be stored when the server stops.
	usageFlush = 2 * time.Second
)

func usesKey(s usage.Stack) string { return path.Join(usesPrefix, s.Namespace, s.Name, s.UID) }

// observe takes the end of a run. It does not block.
func (k *usageKeeper) observe(rec run.Record) {
	if rec.Result == nil || rec.Spec.Operation.ByHand() {
		return
	}
	entry, changed := k.index.Ended(usageOf(rec))
	if changed || k.index.Complete() && !rec.Quiet {
		k.store(entry)
	}
}

func (k *usageKeeper) store(e usage.Entry) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dirty[e.Stack] = e
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// usageOf is what the index learns from a run.
func usageOf(rec run.Record) usage.Run {
	result := rec.Result
	r := usage.Run{Stack: usage.Stack(rec.Spec.Stack), ID: rec.Spec.ID, Finished: result.Finished, Outcome: string(result.Outcome),
		Succeeded: result.Outcome == run.OutcomeSucceeded, Planned: result.Plan != nil, Changes: result.Plan != nil && result.Plan.Changes,
		Applied: result.Applied, ApplyStarted: result.ApplyStarted, Destroy: rec.Spec.Destroy}
	if result.Uses != nil {
		r.Known, r.Uses = true, append(usesOf(*result.Uses), toolOf(rec)...)
	}
	return r
}

func usesOf(u run.Uses) (uses []usage.Use) {
	for _, m := range u.Modules {
		uses = append(uses, usage.Use{Kind: usage.Module, Keys: []string{m.Key}, Source: m.Source, Version: m.Version, Constraint: m.Constraint})
	}
	for _, p := range u.Providers {
		uses = append(uses, usage.Use{Kind: usage.Provider, Source: p.Source, Version: p.Version, Constraint: p.Constraint})
	}
	return uses
}

// toolOf is the use of the tool itself.
func toolOf(rec run.Record) []usage.Use {
	if rec.Result.ToolName == "" || rec.Result.ToolVersion == "" {
		return nil
	}
	return []usage.Use{{Kind: usage.Tool, Source: rec.Result.ToolName, Version: rec.Result.ToolVersion, Constraint: rec.Spec.Tool.Version}}
}

// run loads what is stored, stores what changes, and compares notices, until ctx ends.
func (k *usageKeeper) run(ctx context.Context) error {
	for ctx.Err() == nil {
		err := k.load(ctx)
		if err == nil {
			break
		}
		k.engine.opts.Log.Warn("reading which stacks use which modules failed, and is tried again", "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(usageEvery):
		}
	}
	tick := time.NewTicker(usageEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			flush, cancel := context.WithTimeout(context.WithoutCancel(ctx), usageFlush)
			k.write(flush)
			cancel()
			return nil
		case <-k.wake:
			k.write(ctx)
		case <-tick.C:
			k.forgetDeleted(ctx)
			k.tellNotices(ctx)
			k.write(ctx)
		}
	}
}

// write stores the changed entries. Those that fail stay for the next time.
func (k *usageKeeper) write(ctx context.Context) {
	k.mu.Lock()
	dirty := k.dirty
	k.dirty = map[usage.Stack]usage.Entry{}
	k.mu.Unlock()
	for stack, entry := range dirty {
		data, err := json.Marshal(entry)
		if err == nil {
			err = k.engine.blobs.PutBytes(ctx, usesKey(stack), data)
		}
		if err == nil {
			continue
		}
		k.engine.opts.Log.Warn("cannot store which modules a stack uses", "stack", stack.Namespace+"/"+stack.Name, "error", err)
		k.mu.Lock()
		if _, newer := k.dirty[stack]; !newer {
			k.dirty[stack] = entry
		}
		k.mu.Unlock()
	}
}

// load reads the stored entries of existing stacks, and the records of those that have none or whose
// last run is not in it: the server may have died before it stored that.
func (k *usageKeeper) load(ctx context.Context) error {
	var list infrav1.TerraformList
	if err := k.engine.manager.GetClient().List(ctx, &list); err != nil {
		return fmt.Errorf("list the stacks: %w", err)
	}
	stored := map[usage.Stack]bool{}
	for info, err := range k.engine.blobs.List(ctx, usesPrefix) {
		if err != nil {
			return err
		}
		if part := strings.Split(info.Key, "/"); len(part) == 4 {
			stored[usage.Stack{Namespace: part[1], Name: part[2], UID: part[3]}] = true
		}
	}
	var entries []usage.Entry
	var late []run.Record
	for i := range list.Items {
		obj := &list.Items[i]
		stack := usage.Stack(run.StackOf(obj))
		entry, err := k.stored(ctx, stack, stored[stack])
		if err != nil {
			return err
		}
		delete(stored, stack)
		if entry.LastRun != "" {
			entries = append(entries, entry)
		}
		late = append(late, k.missing(ctx, obj, entry)...)
	}
	for _, e := range k.index.Load(entries) {
		k.store(e)
	}
	for _, rec := range late {
		k.observe(rec)
	}
	for gone := range stored {
		if !k.ours(gone) {
			continue
		}
		if err := k.engine.blobs.Delete(ctx, usesKey(gone)); err != nil {
			return err
		}
	}
	return nil
}

func (k *usageKeeper) stored(ctx context.Context, stack usage.Stack, there bool) (e usage.Entry, err error) {
	if !there {
		return e, nil
	}
	data, err := k.engine.blobs.Get(ctx, usesKey(stack), maxUses)
	var sealed *blob.SealError
	if errors.Is(err, blob.ErrNotFound) || errors.As(err, &sealed) || err == nil && json.Unmarshal(data, &e) != nil {
		return usage.Entry{}, nil // the next run tells it again
	}
	return e, err
}

// missing returns the records of runs that an entry does not know, the oldest first.
func (k *usageKeeper) missing(ctx context.Context, obj *infrav1.Terraform, e usage.Entry) (list []run.Record) {
	last := obj.Status.LastRun
	if last == nil || last.ID <= e.LastRun {
		return nil
	}
	ids := []string{obj.Status.LastAppliedRun, obj.Status.Plan.RunID, last.ID}
	for i, id := range ids {
		if id == "" || id <= e.LastRun || i > 0 && id == ids[i-1] {
			continue
		}
		rec, err := k.engine.executor.Record(ctx, run.StackOf(obj), id)
		if err == nil && rec.Result != nil {
			list = append(list, rec)
		}
	}
	return list
}

// ours reports whether this server would see the stack if it existed.
func (k *usageKeeper) ours(s usage.Stack) bool {
	only := k.engine.opts.Namespaces
	return len(only) == 0 || slices.Contains(only, s.Namespace)
}

// forgetDeleted drops the stacks that no longer exist, and their blobs.
func (k *usageKeeper) forgetDeleted(ctx context.Context) {
	var list infrav1.TerraformList
	if err := k.engine.manager.GetClient().List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return // only while the server starts or stops
	}
	there := map[usage.Stack]bool{}
	for i := range list.Items {
		there[usage.Stack(run.StackOf(&list.Items[i]))] = true
	}
	for _, s := range k.index.Stacks() {
		if there[s] || !k.ours(s) {
			continue
		}
		k.index.Forget(s)
		k.mu.Lock()
		delete(k.dirty, s)
		delete(k.told, run.Stack(s))
		k.mu.Unlock()
		if err := k.engine.blobs.Delete(ctx, usesKey(s)); err != nil {
			k.engine.opts.Log.Warn("cannot remove which modules a deleted stack used", "stack", s.Namespace+"/"+s.Name, "error", err)
		}
	}
}
