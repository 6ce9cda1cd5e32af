// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/link"
)

// Fetch downloads a file of the run from the server into the spool.
func (t *Run) Fetch(ctx context.Context, what, name string, limit int64) (string, error) {
	target := t.Dir.Path(name)
	file, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return "", fault.New(fault.DiskClass(err), "fetch the %s: %w", what, err)
	}
	defer file.Close()
	_, err = t.Persist(ctx, link.Request{Method: http.MethodGet, Path: "/" + name, Stream: rewindable{file}, Limit: limit})
	var r *link.Refusal
	if errors.As(err, &r) {
		return "", fault.New(r.Problem.Class, "fetch the %s: %w", what, err)
	}
	if err != nil {
		return "", fmt.Errorf("fetch the %s: %w", what, err)
	}
	return target, nil
}

// rewindable is a file that is truncated when its transfer is retried.
type rewindable struct{ *os.File }

// Reset drops what was written.
func (r rewindable) Reset() {
	_ = r.Truncate(0) // the digest reveals wrong content
	_, _ = r.Seek(0, 0)
}
