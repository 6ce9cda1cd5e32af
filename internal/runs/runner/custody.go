// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/spool"
)

// A plan is written by tofu where the program can write, too. As soon as tofu has ended the runner copies it, once and from
// one descriptor, to where the program can only read. Whatever is shown, reviewed, kept and applied from then on is that
// copy, and its digest is checked before it is used.

const (
	// givenDir holds what tofu is given and the program must not change.
	givenDir = "given"
	// givenPlan is the plan that is shown and applied, givenNow one that it is compared with.
	givenPlan = givenDir + "/" + planName
	givenNow  = givenDir + "/now"
)

// heldPlan is a plan in the runner's hands.
type heldPlan struct {
	name   string
	digest string
	size   int64
	// stamp is how its file looked when it was written.
	stamp fileStamp
}

// fileStamp changes with each change of a file. No program can set the time of an inode's last change.
type fileStamp struct {
	inode        uint64
	size         int64
	mtime, ctime int64
}

func stampFile(file *os.File) (fileStamp, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		return fileStamp{}, &os.PathError{Op: "fstat", Path: file.Name(), Err: err}
	}
	return fileStamp{st.Ino, st.Size, unix.TimespecToNsec(st.Mtim), unix.TimespecToNsec(st.Ctim)}, nil
}

// path is the plan's absolute path.
func (c *custody) heldPath(p heldPlan) string { return filepath.Join(c.site.space.base, p.name) }

// takePlan takes the plan that tofu has just written into custody.
func (c *custody) takePlan(written, name string) (heldPlan, error) {
	file, err := c.site.space.open(written)
	if err != nil {
		return heldPlan{}, fault.New(run.FailureTool, "read the saved plan: %w", err)
	}
	defer file.Close()
	return c.hold(file, name)
}

// hold copies a plan to where the program can only read it.
func (c *custody) hold(plan io.Reader, name string) (heldPlan, error) {
	p := heldPlan{name: name}
	limit := orDefault(c.task.spec.Limits.PlanBytes, run.DefaultLimits().PlanBytes)
	w := c.site.space
	if err := errors.Join(w.root.RemoveAll(name), w.root.MkdirAll(givenDir, 0o700)); err != nil {
		return p, fault.New(fault.DiskClass(err), "keep the plan: %w", err)
	}
	file, err := w.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return p, fault.New(fault.DiskClass(err), "keep the plan: %w", err)
	}
	defer file.Close()
	hash := sha256.New()
	if p.size, err = io.Copy(io.MultiWriter(file, hash), io.LimitReader(plan, limit+1)); err != nil {
		return p, fault.New(fault.DiskClass(err), "keep the plan: %w", err)
	}
	if p.size > limit {
		return p, fault.New(run.FailureLimit, "keep the plan: it has more than %d bytes, which is the limit", limit)
	}
	p.digest = "sha256:" + hex.EncodeToString(hash.Sum(nil))
	if p.stamp, err = stampFile(file); err != nil {
		return p, fmt.Errorf("keep the plan: %w", err)
	}
	return p, nil
}

// openHeld opens a plan in custody, and refuses one that was changed since.
func (c *custody) openHeld(p heldPlan) (*os.File, error) {
	file, err := c.site.space.open(p.name)
	if err != nil {
		return nil, fault.New(run.FailureStalePlan, "read the plan: %w", err)
	}
	stamp, err := stampFile(file)
	if err == nil && stamp != p.stamp {
		err = &planChangedError{}
	}
	if err != nil {
		file.Close()
		return nil, &fault.Failure{Class: run.FailureStalePlan, Err: err}
	}
	return file, nil
}

// planChangedError says that a plan in custody is not what it was.
type planChangedError struct{}

func (*planChangedError) Error() string {
	return "something outside of Yuba has changed the plan after it was made; it is neither shown nor applied. " +
		"A program can do so only where confinement is missing: see `yuba version`, and docs/how-to/confinement.md"
}

// unchangedPlan makes sure that a plan is still what it was, when tofu has read it.
func (c *custody) unchangedPlan(p heldPlan) error {
	file, err := c.openHeld(p)
	if err != nil {
		return err
	}
	return file.Close()
}

// readHeld reads a plan in custody whole.
func (c *custody) readHeld(p heldPlan) ([]byte, error) {
	file, err := c.openHeld(p)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, p.size+1))
	if err != nil {
		return nil, fmt.Errorf("read the plan: %w", err)
	}
	if spool.Digest(data) != p.digest {
		return nil, &fault.Failure{Class: run.FailureStalePlan, Err: &planChangedError{}}
	}
	return data, nil
}

// confirmPlan makes sure, directly before tofu applies it, that a plan in custody has the digest that was decided about.
func (c *custody) confirmPlan(p heldPlan, digest string) error {
	file, err := c.openHeld(p)
	if err != nil {
		return err
	}
	defer file.Close()
	if got := digestOfFile(file); got != digest || p.digest != digest {
		return &fault.Failure{Class: run.FailureStalePlan, Err: &planChangedError{}}
	}
	return nil
}
