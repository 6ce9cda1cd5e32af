// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/spool"
)

// The program can write to the plan that tofu writes. So the runner copies it right after tofu
// ends, from one descriptor, and shows, keeps and applies only the verified copy.

// Plan is a plan in custody.
type Plan struct {
	name   string
	Digest string
	Size   int64
	// stamp is that of the copy.
	stamp Stamp
}

// PlanFile returns the absolute path of a plan in custody.
func (w *Workspace) PlanFile(p Plan) string { return filepath.Join(w.Base, p.name) }

// TakePlan takes the plan that tofu has written into custody.
func (w *Workspace) TakePlan(written, name string, limit int64) (Plan, error) {
	file, err := w.Open(written)
	if err != nil {
		return Plan{}, fault.New(run.FailureTool, "read the saved plan: %w", err)
	}
	defer file.Close()
	return w.HoldPlan(file, name, limit)
}

// HoldPlan copies a plan to where the program can only read it.
func (w *Workspace) HoldPlan(plan io.Reader, name string, limit int64) (Plan, error) {
	p := Plan{name: name}
	if err := errors.Join(w.Root.RemoveAll(name), w.Root.MkdirAll(GivenDir, 0o700)); err != nil {
		return p, fault.New(fault.DiskClass(err), "keep the plan: %w", err)
	}
	file, err := w.Root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return p, fault.New(fault.DiskClass(err), "keep the plan: %w", err)
	}
	defer file.Close()
	hash := sha256.New()
	if p.Size, err = io.Copy(io.MultiWriter(file, hash), io.LimitReader(plan, limit+1)); err != nil {
		return p, fault.New(fault.DiskClass(err), "keep the plan: %w", err)
	}
	if p.Size > limit {
		return p, fault.New(run.FailureLimit, "keep the plan: it exceeds the limit of %d bytes", limit)
	}
	p.Digest = "sha256:" + hex.EncodeToString(hash.Sum(nil))
	if p.stamp, err = StampFile(file); err != nil {
		return p, fmt.Errorf("keep the plan: %w", err)
	}
	return p, nil
}

// OpenPlan opens a plan in custody. It refuses a changed one.
func (w *Workspace) OpenPlan(p Plan) (*os.File, error) {
	file, err := w.Open(p.name)
	if err != nil {
		return nil, fault.New(run.FailureStalePlan, "read the plan: %w", err)
	}
	stamp, err := StampFile(file)
	if err == nil && stamp != p.stamp {
		err = &planChangedError{}
	}
	if err != nil {
		file.Close()
		return nil, &fault.Failure{Class: run.FailureStalePlan, Err: err}
	}
	return file, nil
}

// planChangedError reports a changed plan in custody.
type planChangedError struct{}

func (*planChangedError) Error() string {
	return "something outside of Yuba changed the plan after it was made; refusing to show or apply it. " +
		"A program can do so only where confinement is missing: see `yuba version`, and docs/how-to/confinement.md"
}

// UnchangedPlan verifies the plan after tofu has read it.
func (w *Workspace) UnchangedPlan(p Plan) error {
	file, err := w.OpenPlan(p)
	if err != nil {
		return err
	}
	return file.Close()
}

// ReadPlan reads a plan in custody.
func (w *Workspace) ReadPlan(p Plan) ([]byte, error) {
	file, err := w.OpenPlan(p)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, p.Size+1))
	if err != nil {
		return nil, fmt.Errorf("read the plan: %w", err)
	}
	if spool.Digest(data) != p.Digest {
		return nil, &fault.Failure{Class: run.FailureStalePlan, Err: &planChangedError{}}
	}
	return data, nil
}

// ConfirmPlan verifies right before the apply that the plan has the approved digest.
func (w *Workspace) ConfirmPlan(p Plan, digest string) error {
	file, err := w.OpenPlan(p)
	if err != nil {
		return err
	}
	defer file.Close()
	if got := DigestOfFile(file); got != digest || p.Digest != digest {
		return &fault.Failure{Class: run.FailureStalePlan, Err: &planChangedError{}}
	}
	return nil
}
