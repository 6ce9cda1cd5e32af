// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package parcel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/kit/bundle"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// BadError means that a stream is not a parcel, or not one for this stack.
type BadError struct{ Message string }

func (e *BadError) Error() string { return "import the content of a stack: " + e.Message }

func bad(format string, args ...any) error { return &BadError{fmt.Sprintf(format, args...)} }

// Read stores the content of a parcel for a stack with the same namespace and name. It may be
// repeated. Nothing is changed before the whole parcel was received and checked.
func (s *Store) Read(ctx context.Context, r io.Reader, to Subject) (Summary, error) {
	// 1. Receive.
	if err := sweep(ctx, s.Blobs); err != nil {
		return Summary{}, fmt.Errorf("import the content of %s: %w", to.Stack, err)
	}
	in := &incoming{Store: s, stage: newStage(s.Blobs), to: to, summary: Summary{Versions: []string{}, Runs: []string{}}}
	defer in.stage.discard(ctx)
	if err := in.receive(ctx, r); err != nil {
		return Summary{}, err
	}
	in.summary.Audit = in.from.Audit
	// 2. Check, and find out what is missing here.
	if err := in.judge(ctx); err != nil {
		return Summary{}, err
	}
	if to.Still != nil {
		if err := to.Still(ctx); err != nil {
			return Summary{}, err
		}
	}
	// 3. Publish. Records come last: a run without one is not listed.
	for _, publish := range in.todo {
		if err := publish(ctx); err != nil {
			return Summary{}, fmt.Errorf("import the content of %s: %w", to.Stack, err)
		}
	}
	return in.summary, nil
}

// incoming is one import.
type incoming struct {
	*Store
	stage   *stage
	to      Subject
	from    Header
	summary Summary
	// todo stores what is missing here, in this order.
	todo []func(context.Context) error
}

// receive stages all members, and checks them against the manifest.
func (in *incoming) receive(ctx context.Context, r io.Reader) error {
	total := in.MaxTotal
	if total <= 0 {
		total = MaxTotal
	}
	entries := newReader(ctx, r, total)
	if name, err := entries.next(); err != nil || name != headerName {
		return bad("it does not begin with %s", headerName)
	}
	if err := entries.readJSON(&in.from, maxHeader); err != nil {
		return err
	}
	switch from := in.from; {
	case from.Format < 1:
		return bad("it has no format number")
	case from.Format > Format:
		return bad("a newer Yuba wrote it (format %d). Upgrade this server first", from.Format)
	case from.Namespace != in.to.Stack.Namespace || from.Name != in.to.Stack.Name:
		return bad("it is of stack %s/%s, not of %s", from.Namespace, from.Name, in.to.Stack)
	}
	for {
		name, err := entries.next()
		if err != nil {
			return err
		}
		if name == bundle.ManifestName {
			break
		}
		limit, err := in.limitOf(name)
		if err != nil {
			return err
		}
		if err := in.stage.add(ctx, name, entries.member(limit)); err != nil {
			return err
		}
	}
	manifest, err := entries.check()
	if err != nil {
		return err
	}
	in.summary.Damaged = manifest.Damaged
	for _, m := range manifest.Members {
		in.summary.Bytes += m.Size
	}
	for _, m := range in.stage.members {
		m.sum = entries.got[m.name].SHA256
	}
	return nil
}

// judge checks every member against what is here.
func (in *incoming) judge(ctx context.Context) error {
	var runs []string
	for _, m := range in.stage.members {
		dir, rest, _ := strings.Cut(m.name, "/")
		var err error
		switch dir {
		case lockFileName:
			in.publish(m, in.to.Stack.LockFileKey())
		case statesDir:
			err = in.judgeState(ctx, m, rest)
		case artifactsDir:
			err = in.judgeArtifact(ctx, m, rest)
		case runsDir:
			id, _, _ := strings.Cut(rest, "/")
			runs = append(runs, id)
		}
		if err != nil {
			return err
		}
	}
	slices.Sort(runs)
	for _, id := range slices.Compact(runs) {
		if err := in.judgeRun(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// publish stores a member below a key later.
func (in *incoming) publish(m *staged, key string) {
	in.todo = append(in.todo, func(ctx context.Context) error {
		content, err := in.stage.open(ctx, m)
		if err != nil {
			return err
		}
		return errors.Join(in.Blobs.Put(ctx, key, content), content.Close())
	})
}

func (in *incoming) judgeState(ctx context.Context, m *staged, id string) error {
	if in.to.State == nil {
		return nil
	}
	content, err := in.stage.open(ctx, m)
	if err != nil {
		return err
	}
	err = in.States.CheckPacked(ctx, *in.to.State, id, in.from.UID, content)
	var corrupt *state.CorruptError
	if errors.As(err, &corrupt) {
		err = bad("%v", err)
	}
	if err := errors.Join(err, content.Close()); err != nil {
		return err
	}
	in.summary.Versions = append(in.summary.Versions, id)
	in.todo = append(in.todo, func(ctx context.Context) error {
		content, err := in.stage.open(ctx, m)
		if err != nil {
			return err
		}
		_, err = in.States.PutPacked(ctx, *in.to.State, id, in.from.UID, content)
		return errors.Join(err, content.Close())
	})
	return nil
}

func (in *incoming) judgeArtifact(ctx context.Context, m *staged, sum string) error {
	if m.sum != sum {
		return bad("archive %s has digest %s", sum, m.sum)
	}
	in.summary.Artifacts++
	has, err := in.Blobs.HasArtifact(ctx, digestPrefix+sum)
	if err != nil || has {
		return err
	}
	in.todo = append(in.todo, func(ctx context.Context) error {
		content, err := in.stage.open(ctx, m)
		if err != nil {
			return err
		}
		_, _, err = in.Blobs.PutArtifact(ctx, content, in.MaxArtifact)
		return errors.Join(err, content.Close())
	})
	return nil
}

func isPart(part string) bool { return slices.Contains(parts, part) }

func partLimit(part string) int64 {
	if part == run.BlobRecord {
		return maxRecord
	}
	return maxPart
}
