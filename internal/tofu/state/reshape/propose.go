// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reshape

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/tofu/state"
	"github.com/yuba-dev/yuba/internal/tofu/state/moves"
	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

// States is the part of the store of states that refactorings need.
type States interface {
	Read(ctx context.Context, key state.Key, options ...state.ReadOption) (*state.Snapshot, error)
	Write(ctx context.Context, key state.Key, w state.WriteRequest) (state.Version, error)
	Lock(ctx context.Context, key state.Key, info state.LockInfo) error
	Unlock(ctx context.Context, key state.Key, id string) error
	Versions(ctx context.Context, key state.Key) iter.Seq2[state.Version, error]
	ReadVersion(ctx context.Context, key state.Key, id string) (state.Version, []byte, error)
	Room(ctx context.Context, key state.Key, now *state.Snapshot, labels map[string]string) error
}

// Desk has the refactorings of a server. It is safe for concurrent use.
type Desk struct {
	States States
	Blobs  *blob.Store
	// Version is that of this server, for locks.
	Version string
	// Changed is called after a refactoring was applied or has failed; may be nil.
	Changed func(r Record)
	Now     func() time.Time
	Log     *slog.Logger

	// broken makes tests end at a step, as a killed server does.
	broken func(step string) error

	mu   sync.Mutex
	busy map[string]bool
	// lost is closed once this server is no longer in charge; nil before Run.
	lost <-chan struct{}
	// left is set if this server left a refactoring open.
	left atomic.Bool
	// told are the keys of skipped records that were logged.
	told sync.Map
}

func (d *Desk) store() store { return store{d.Blobs} }

func (d *Desk) now() time.Time {
	if d.Now != nil {
		return d.Now().UTC()
	}
	return time.Now().UTC()
}

// take reserves a refactoring for one caller of this server; give releases it.
func (d *Desk) take(r *Record) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.busy[r.ID] {
		return false
	}
	if d.busy == nil {
		d.busy = map[string]bool{}
	}
	d.busy[r.ID] = true
	return true
}

func (d *Desk) give(r *Record) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.busy, r.ID)
}

// errLost ends a refactoring of a server that is not in charge any more: another one may be carrying it on.
var errLost = errors.New("this server is ending, or another replica has taken over. That one goes on with it")

// mayWrite is asked before each write.
func (d *Desk) mayWrite(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	select {
	case <-d.lost:
		return errLost
	default:
		return ctx.Err()
	}
}

// untilLost is a context that does not depend on a person's connection, but ends when this server is not
// in charge any more.
func (d *Desk) untilLost(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	d.mu.Lock()
	defer d.mu.Unlock()
	go func(lost <-chan struct{}) {
		defer cancel()
		select {
		case <-lost:
		case <-ctx.Done():
		}
	}(d.lost)
	return ctx, cancel
}

// reserve reserves a refactoring of a list, and reads it again: since it was listed, a request may have
// applied it, and what is done from the old record would undo that. It is nil if it is in hand, or gone.
func (d *Desk) reserve(ctx context.Context, listed *Record) (*Record, error) {
	if !d.take(listed) {
		return nil, nil
	}
	r, err := d.store().load(ctx, listed.Namespace, listed.ID)
	if err == nil {
		return r, nil
	}
	d.give(listed)
	if errors.Is(err, ErrNotFound) {
		err = nil
	}
	return nil, err
}

// current is a state of a stack as it is now.
type current struct {
	stack    Stack
	snapshot *state.Snapshot
	// data is the content, or an empty state for a stack that has none.
	data []byte
}

// Propose computes the states after the steps, and stores them as a proposal. The stacks are those
// that the steps name.
func (d *Desk) Propose(ctx context.Context, namespace, by string, stacks []Stack, steps []moves.Step) (*Record, error) {
	if err := d.makeRoom(ctx, namespace); err != nil {
		return nil, err
	}
	now, err := d.read(ctx, stacks)
	if err != nil {
		return nil, err
	}
	documents := map[string][]byte{}
	for name, c := range now {
		documents[name] = c.data
	}
	result, err := moves.Apply(documents, steps)
	if err != nil {
		return nil, refused("%v. Nothing was changed", err)
	}
	if len(result.States) == 0 {
		return nil, refused("the refactoring changes no state")
	}
	r := &Record{Namespace: namespace, By: by, Steps: steps, Moved: result.Moved}
	return r, d.keep(ctx, r, now, result.States)
}

// read reads the states of stacks.
func (d *Desk) read(ctx context.Context, stacks []Stack) (map[string]*current, error) {
	now := map[string]*current{}
	version := ""
	for _, s := range stacks {
		var options []state.ReadOption
		if s.Existing {
			options = append(options, state.ExpectExisting())
		}
		snapshot, err := d.States.Read(ctx, s.Key, options...)
		if err != nil {
			return nil, err
		}
		if snapshot.Encrypted {
			return nil, refused("refactor %s: OpenTofu encrypted its state, so Yuba cannot move resources in it. Decrypt it first, with a fallback method in the program's encryption block", s.Key)
		}
		now[s.Key.Stack] = &current{stack: s, snapshot: snapshot, data: snapshot.Data}
		if file, err := statefile.Parse(snapshot.Data); snapshot.Data != nil && err == nil {
			version = cmp.Or(version, file.TerraformVersion)
		}
	}
	for _, c := range now {
		if c.data == nil {
			c.data = moves.New(cmp.Or(version, "1.6.0"), string(uuid.NewUUID()))
		}
	}
	return now, nil
}

// keep stores a proposal with its states, or nothing.
func (d *Desk) keep(ctx context.Context, r *Record, now map[string]*current, next map[string][]byte) error {
	r.ID, r.Created, r.Phase = d.newID(), d.now(), Proposed
	r.Changed, r.MovedInstances = r.Created, len(r.Moved)
	for _, name := range slices.Sorted(maps.Keys(next)) {
		c := now[name]
		snapshot, err := state.NewSnapshot(next[name])
		if err != nil {
			return fmt.Errorf("refactor %s: the new state is wrong, which is a bug in Yuba: %w", c.stack.Key, err)
		}
		if len(next[name]) > state.MaxSize {
			return refused("refactor %s: its new state would have %d bytes, and the limit is %d. Move less into it", c.stack.Key, len(next[name]), state.MaxSize)
		}
		m := Member{Stack: name, UID: c.stack.Key.UID, Workspace: c.stack.Key.Workspace, Suffix: c.stack.Key.Suffix, Scope: c.stack.Key.Scope, Labels: c.stack.Labels, Program: c.stack.Program,
			Before: c.snapshot.Mark(), After: snapshot.Mark(), Had: moves.Count(c.data), Has: moves.Count(next[name])}
		if c.snapshot.Data == nil {
			m.Before = state.Mark{}
		}
		r.Members = append(r.Members, m)
	}
	err := d.storeAll(ctx, r, now, next)
	if err == nil {
		return nil
	}
	// The caller may have gone. If this fails, too, Collect deletes the blobs.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropPatience)
	defer cancel()
	return errors.Join(err, d.store().drop(ctx, r))
}

// dropPatience is how long the blobs of a proposal that could not be stored are deleted.
const dropPatience = 30 * time.Second

// storeAll stores a proposal, its record last.
func (d *Desk) storeAll(ctx context.Context, r *Record, now map[string]*current, next map[string][]byte) error {
	for _, m := range r.Members {
		var err error
		if data := now[m.Stack].snapshot.Data; data != nil {
			err = d.store().putState(ctx, r, before, m.Stack, data)
		}
		if err == nil {
			err = d.store().putState(ctx, r, after, m.Stack, next[m.Stack])
		}
		if err != nil {
			return fmt.Errorf("store the refactoring %s: %w", r.ID, err)
		}
		if err := d.step("stored " + m.Stack); err != nil {
			return err
		}
	}
	if err := d.store().saveMoves(ctx, r); err != nil {
		return err
	}
	return d.store().save(ctx, r)
}

func (d *Desk) newID() string {
	b := make([]byte, 4)
	rand.Read(b) //nolint:errcheck // never fails, see its documentation
	return "refactor-" + d.now().Format("20060102-150405") + "-" + hex.EncodeToString(b)
}

// Get returns a refactoring.
func (d *Desk) Get(ctx context.Context, namespace, id string) (*Record, error) {
	return d.store().loadWhole(ctx, namespace, id)
}

// List returns the refactorings of a namespace, newest first, without their steps and moved instances. It skips
// records that are damaged or cannot be read, logs them, and says why.
func (d *Desk) List(ctx context.Context, namespace string) (records []*Record, skipped []string, err error) {
	all, err := d.store().list(ctx, namespace)
	d.tellSkipped(all)
	for _, why := range slices.Concat(all.lost, all.unread) {
		skipped = append(skipped, why.Error())
	}
	return all.records, skipped, err
}

// tellSkipped logs records that are damaged or cannot be read, each once: most stay as they are until somebody restores
// them.
func (d *Desk) tellSkipped(all found) {
	for _, damage := range slices.Concat(all.lost, all.unread) {
		var record *skippedError
		if !errors.As(damage, &record) {
			continue
		}
		if _, told := d.told.LoadOrStore(record.key, true); !told {
			d.Log.Warn("skipping a refactoring", "error", damage)
		}
	}
}

// State returns the state that a stack has after a refactoring, for speculative plans.
func (d *Desk) State(ctx context.Context, namespace, id, stack string) ([]byte, error) {
	r, err := d.store().load(ctx, namespace, id)
	if err != nil {
		return nil, err
	}
	m, ok := r.Member(stack)
	switch {
	case !ok:
		return nil, refused("the refactoring %s does not change the state of %s/%s", id, namespace, stack)
	case r.Phase != Proposed:
		return nil, refused("the refactoring %s is %s: only a proposal can be planned", id, r.Phase)
	}
	return d.store().readState(ctx, r, after, stack, m.After.Digest)
}

// ProposeUndo proposes a refactoring that reverses another one. stacks are its members as they are now.
func (d *Desk) ProposeUndo(ctx context.Context, namespace, id, by string, stacks []Stack) (*Record, error) {
	if err := d.makeRoom(ctx, namespace); err != nil {
		return nil, err
	}
	done, err := d.store().loadWhole(ctx, namespace, id)
	if err != nil {
		return nil, err
	}
	switch {
	case done.Phase != Applied && done.Phase != Written:
		return nil, refused("undo the refactoring %s: it is %s, so there is nothing to undo", id, done.Phase)
	case done.UndoneBy != "":
		return nil, refused("undo the refactoring %s: %s has undone it already", id, done.UndoneBy)
	}
	now, err := d.read(ctx, stacks)
	if err != nil {
		return nil, err
	}
	r := &Record{Namespace: namespace, By: by, Undoes: id}
	for _, m := range slices.Backward(done.Moved) {
		if m.To != "" {
			r.Moved = append(r.Moved, moves.Moved{State: m.ToState, Address: m.To, ToState: m.State, To: m.Address})
		}
	}
	next, err := d.former(ctx, done, now)
	if err == nil && next == nil {
		next, err = backwards(done, now)
	}
	if err != nil {
		return nil, err
	}
	return r, d.keep(ctx, r, now, next)
}

// former returns the states that the members had; nil if a state has changed since.
func (d *Desk) former(ctx context.Context, done *Record, now map[string]*current) (map[string][]byte, error) {
	next := map[string][]byte{}
	for _, m := range done.Members {
		c := now[m.Stack]
		if c == nil || c.snapshot.Digest != m.After.Digest {
			return nil, nil
		}
	}
	for i := range done.Members {
		m := &done.Members[i]
		data, err := d.formerOf(ctx, done, m)
		if errors.Is(err, blob.ErrNotFound) {
			return nil, nil // deleted because of its age
		}
		if err != nil {
			return nil, err
		}
		if next[m.Stack], err = statefile.WithSerial(data, m.After.Serial+1); err != nil {
			return nil, err
		}
	}
	return next, nil
}

// formerOf returns what a member had before: an empty state if it had none.
func (d *Desk) formerOf(ctx context.Context, r *Record, m *Member) ([]byte, error) {
	if m.Before.Digest == "" {
		return moves.New("1.6.0", m.After.Lineage), nil
	}
	return d.store().readState(ctx, r, before, m.Stack, m.Before.Digest)
}

// backwards takes the steps back on states that have changed since.
func backwards(done *Record, now map[string]*current) (map[string][]byte, error) {
	documents := map[string][]byte{}
	for name, c := range now {
		documents[name] = c.data
	}
	steps, err := Reverse(done)
	if err != nil {
		return nil, err
	}
	result, err := moves.Apply(documents, steps)
	if err != nil {
		return nil, refused("undo the refactoring %s: a state has changed since, and the way back is not possible: %v. Nothing was changed", done.ID, err)
	}
	return result.States, nil
}

// Reverse returns the steps that take a refactoring back, if it only moved.
func Reverse(done *Record) (steps []moves.Step, err error) {
	for _, s := range done.Steps {
		if s.Verb != moves.Move {
			return nil, refused("undo the refactoring %s: a state has changed since, and its step %q cannot be taken back then. "+
				"Roll each state back instead, or write a refactoring of its own:\n    yuba state history %s/%s", done.ID, s.Verb, done.Namespace, done.Members[0].Stack)
		}
	}
	for _, m := range slices.Backward(done.Moved) {
		steps = append(steps, moves.Step{Verb: moves.Move, State: m.ToState, From: m.To, ToState: m.State, To: m.Address, Place: "undo"})
	}
	return steps, nil
}
