// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/gateway/parcel"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

// content is what the last apply of a stack used.
type content struct {
	stack  *infrav1.Terraform
	record run.Record
	// lockFile is the dependency lock file; empty without one.
	lockFile []byte
	// state is nil for a stack with a custom backend, file what it has.
	state []byte
	file  *statefile.File
}

const (
	maxRecord   = 32 << 20
	maxLockFile = 4 << 20
)

// fetch reads what the last apply used, and extracts its program into a directory.
func (h *handover) fetch(ctx context.Context, t *infrav1.Terraform, program string) (*content, error) {
	c := &content{stack: t}
	if err := h.fetchState(ctx, c); err != nil {
		return nil, err
	}
	spool, err := os.MkdirTemp(filepath.Dir(program), ".programs-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(spool) //nolint:errcheck // the programs are those of the home
	export, err := h.Content.Export(ctx, t.Namespace, t.Name)
	if err != nil {
		return nil, fmt.Errorf("export what the last apply used: %w", err)
	}
	defer export.Close() //nolint:errcheck // only read
	found := false
	_, err = parcel.Walk(ctx, export, func(name string, r io.Reader) error {
		dir, rest, _ := strings.Cut(name, "/")
		switch {
		case name == parcel.LockFileName:
			c.lockFile, err = io.ReadAll(io.LimitReader(r, maxLockFile))
			return err
		case dir == parcel.ArtifactsDir:
			return writeTo(filepath.Join(spool, filepath.Base(rest)), r)
		case dir == parcel.RunsDir && rest == t.Status.LastAppliedRun+"/"+run.BlobRecord:
			data, err := io.ReadAll(io.LimitReader(r, maxRecord))
			if err == nil {
				err = json.Unmarshal(data, &c.record)
			}
			found = true
			return err
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("export what the last apply used: %w", err)
	}
	if !found {
		return nil, fmt.Errorf("the record of its last apply, run %s, is not stored any more. Apply it once more, and hand it over then", t.Status.LastAppliedRun)
	}
	return c, c.extract(ctx, spool, program)
}

// extract unpacks the program of the last apply, within the limits of every source.
func (c *content) extract(ctx context.Context, spool, program string) error {
	digest := c.record.Spec.Artifact.Digest
	file, err := os.Open(filepath.Join(spool, filepath.Base(strings.TrimPrefix(digest, "sha256:"))))
	if err != nil {
		return fmt.Errorf("the program of its last apply (%s) is not stored any more. Apply it once more, and hand it over then", digest)
	}
	defer file.Close() //nolint:errcheck // only read
	if _, err := archive.Extract(ctx, file, program, archive.Limits{}.WithDefaults(), digest); err != nil {
		return fmt.Errorf("unpack the program of its last apply: %w", err)
	}
	return nil
}

func (h *handover) fetchState(ctx context.Context, c *content) error {
	if c.stack.KeepsOwnState() {
		return nil
	}
	var err error
	c.state, err = h.Content.State(ctx, c.stack.Namespace, c.stack.Name, "")
	if apierrors.IsNotFound(err) {
		return errors.New("it has no state, so there is nothing to hand over")
	}
	if err != nil {
		return fmt.Errorf("read its state: %w", err)
	}
	if c.file, err = statefile.Parse(c.state); err != nil {
		return fmt.Errorf("read its state: %w", err)
	}
	return nil
}

func (c *content) serial() uint64 {
	if c.file == nil {
		return 0
	}
	return c.file.Serial
}

// writeTo writes a new file that only its owner reads.
func writeTo(name string, r io.Reader) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, r)
	return errors.Join(err, file.Close())
}
