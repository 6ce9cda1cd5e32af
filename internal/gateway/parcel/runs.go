// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package parcel

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

// judgeRun checks a run. One that is here already is never changed, except that the place of quiet
// passes has only the newest.
func (in *incoming) judgeRun(ctx context.Context, slot string) error {
	dir := runsDir + "/" + slot + "/"
	m := in.stage.byName[dir+run.BlobRecord]
	if m == nil {
		return nil // it was pruned during the export
	}
	data, err := in.stage.read(ctx, m)
	if err != nil {
		return err
	}
	rec, err := adapt(data, slot, in.from, in.to)
	if err != nil {
		return err
	}
	dropped, err := in.bound(rec, dir)
	if err != nil {
		return err
	}
	in.summary.Runs = append(in.summary.Runs, rec.Spec.ID)
	had, err := in.record(ctx, in.to.Stack, slot)
	if err != nil {
		return err
	}
	missing, replace := had == nil, false
	if had != nil {
		replace = slot == run.QuietSlot && had.Spec.ID < rec.Spec.ID
		switch {
		case slot == run.QuietSlot && had.Spec.ID > rec.Spec.ID:
			return nil
		case !replace && !sameRun(*had, rec):
			return bad("run %s is stored here with another result. Yuba never replaces history", rec.Spec.ID)
		}
	}
	if dropped != "" && missing {
		in.summary.Damaged = append(in.summary.Damaged, dropped)
	}
	for _, part := range parts {
		if part == run.BlobRecord {
			continue
		}
		if err := in.judgePart(ctx, slot, part, dropped, missing, replace); err != nil {
			return err
		}
	}
	if !missing && !replace {
		return nil
	}
	in.todo = append(in.todo, func(ctx context.Context) error {
		data, err := json.Marshal(rec)
		if err != nil {
			return err
		}
		return in.Blobs.PutBytes(ctx, in.to.Stack.Key(slot, run.BlobRecord), data)
	})
	return nil
}

// judgePart checks a log or a form of a plan. It is stored if its run is missing here, or replaced.
func (in *incoming) judgePart(ctx context.Context, slot, part, dropped string, missing, replace bool) error {
	key := in.to.Stack.Key(slot, part)
	m := in.stage.byName[runsDir+"/"+slot+"/"+part]
	if m == nil {
		if replace {
			in.todo = append(in.todo, func(ctx context.Context) error { return in.Blobs.Delete(ctx, key) })
		}
		return nil
	}
	if slot != run.QuietSlot {
		sum, err := in.sumOf(ctx, key)
		if err != nil {
			return err
		}
		if sum != "" && sum != m.sum {
			return bad("%s is stored here with other content. Yuba never replaces history", m.name)
		}
	}
	if (missing || replace) && m.name != dropped {
		in.publish(m, key)
	}
	return nil
}

// planForms are the readable forms of a plan. People approve one of them, but the tool applies the
// plan.
var planForms = []string{run.BlobPlanJSON, run.BlobPlanText, run.BlobPlanShow, run.BlobPlanOutputs}

// bound checks that a plan and its readable forms belong together. If nothing proves it, the plan is
// dropped: its stack then plans anew.
func (in *incoming) bound(rec run.Record, dir string) (dropped string, err error) {
	plan := in.stage.byName[dir+run.BlobPlan]
	if plan != nil && (rec.PlanDigest == "" || rec.Spec.Backend.Kind == "") {
		dropped = plan.name
	}
	for _, part := range append(slices.Clone(planForms), run.BlobPlan) {
		m, want := in.stage.byName[dir+part], rec.PlanSums[part]
		if part == run.BlobPlan && rec.PlanDigest != "" {
			want = rec.PlanDigest[min(len(digestPrefix), len(rec.PlanDigest)):]
		}
		switch {
		case m == nil:
		case want == "" && plan != nil:
			dropped = plan.name
		case want != "" && want != m.sum:
			return "", bad("%s does not belong to the plan of its run", m.name)
		}
	}
	return dropped, nil
}

// sameRun reports whether two records are of the same run. Those of two homes differ in what only one
// of them knows, and older versions know less.
func sameRun(a, b run.Record) bool {
	if a.Result == nil || b.Result == nil {
		return false
	}
	return a.Spec.ID == b.Spec.ID && a.Spec.Operation == b.Spec.Operation && a.Spec.Purpose == b.Spec.Purpose && a.Spec.Destroy == b.Spec.Destroy &&
		a.Created.Equal(b.Created) && a.Result.Outcome == b.Result.Outcome && a.PlanDigest == b.PlanDigest
}

// sumOf is the SHA-256 of a blob; empty if it is missing or damaged.
func (in *incoming) sumOf(ctx context.Context, key string) (string, error) {
	content, err := in.Blobs.Open(ctx, key)
	if err == nil {
		sum := sha256.New()
		_, err = io.Copy(sum, content)
		if err = errors.Join(err, content.Close()); err == nil {
			return hex.EncodeToString(sum.Sum(nil)), nil
		}
	}
	if unreadable(err) {
		return "", nil
	}
	return "", err
}

// adapt makes a record one of this home's: of its stack and state, ended, without anything that gives
// access or says where it may execute.
func adapt(data []byte, id string, from Header, to Subject) (run.Record, error) {
	var rec run.Record
	if err := json.Unmarshal(data, &rec); err != nil {
		return rec, bad("the record of run %s cannot be read: %v", id, err)
	}
	switch {
	case rec.Spec.Stack.Namespace != from.Namespace || rec.Spec.Stack.Name != from.Name || rec.Spec.Stack.UID != from.UID:
		return rec, bad("run %s is of another stack", id)
	case rec.Result == nil:
		return rec, bad("run %s has not ended", id)
	case !runID.MatchString(rec.Spec.ID) || id != run.QuietSlot && id != rec.Spec.ID:
		return rec, bad("the record below %s is that of run %q", id, rec.Spec.ID)
	}
	rec.Spec = adaptSpec(rec, to)
	rec.Token, rec.Runner, rec.Home, rec.Place, rec.LockHeld = "", "", "", nil, false
	rec.Quiet = id == run.QuietSlot
	existing := rec.State.Existing
	rec.State = to.Ref
	rec.State.Existing = existing
	return rec, nil
}

// adaptSpec takes over what a later run of the stack may use again: a destruction uses the inputs of
// the last apply. Limits are this server's, and what a run asks for once is not repeated.
func adaptSpec(rec run.Record, to Subject) run.Spec {
	is := rec.Spec
	s := run.Spec{Protocol: is.Protocol, ID: is.ID, Stack: to.Stack, Operation: is.Operation, Purpose: is.Purpose, Destroy: is.Destroy,
		Artifact: is.Artifact, Part: is.Part, Path: is.Path, Workspace: to.Ref.Workspace, Targets: is.Targets, Parallelism: is.Parallelism,
		RefreshOnApply: is.RefreshOnApply, NoPlanLock: is.NoPlanLock, LockTimeout: is.LockTimeout, Plan: is.Plan, StateChange: is.StateChange,
		Describe: is.Describe, Review: is.Review, PlanText: is.PlanText, PlanDocument: is.PlanDocument, PlanOutputs: is.PlanOutputs, Tool: is.Tool}
	if elsewhere(rec, to) {
		// The inputs of another state must never meet this one.
		s.Artifact.Digest = ""
		return s
	}
	s.Backend, s.LockFile, s.Variables, s.Env, s.VarFiles, s.Files = is.Backend, is.LockFile, is.Variables, is.Env, is.VarFiles, is.Files
	s.CLIConfig, s.Secrets = is.CLIConfig, is.Secrets
	s.ReadOutputs, s.ReadResources, s.ReadUnchanged = is.ReadOutputs, is.ReadResources, is.ReadUnchanged
	if is.ServiceAccount == to.ServiceAccount {
		s.ServiceAccount = is.ServiceAccount
		for _, i := range is.Identities {
			if slices.Contains(to.Audiences, i.Audience) {
				s.Identities = append(s.Identities, i)
			}
		}
	}
	return s
}

// elsewhere reports whether a run worked on another state than the stack's: on one that the stack had
// earlier, or on one of another stack.
func elsewhere(rec run.Record, to Subject) bool {
	own := run.BackendOwn
	if to.State != nil {
		own = run.BackendManaged
	}
	at := rec.State
	return rec.Spec.Backend.Kind != own || rec.Spec.Workspace != to.Ref.Workspace ||
		at.Workspace != to.Ref.Workspace || at.Suffix != to.Ref.Suffix || at.Stack != "" && at.Stack != to.Ref.Stack
}
