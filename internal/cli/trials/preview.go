// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package trials

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/gateway/content"
)

// maxPreview keeps a mistake, such as planning a home directory, from filling the disk. The server has
// a lower limit.
const maxPreview = 1 << 30

// Pack packs a directory into a temporary file, which the caller closes and removes.
func Pack(ctx context.Context, dir string) (*os.File, error) {
	file, err := os.CreateTemp("", "yuba-preview-*.tar.gz")
	if err != nil {
		return nil, fmt.Errorf("pack %s: %w", dir, err)
	}
	_, stats, err := archive.Pack(ctx, dir, file, archive.PackOptions{MaxPacked: maxPreview})
	if err == nil && stats.Files == 0 {
		err = fmt.Errorf("pack %s: it contains only ignored files", dir)
	}
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close(), os.Remove(file.Name()))
	}
	return file, nil
}

// Previews are the requests for a speculative plan with another source or planned outputs. packed is a
// packed directory; nil for none.
func Previews(s *session.Session, key types.NamespacedName, r content.PreviewRequest, packed io.ReadSeeker) Calls {
	return Calls{
		Start: func(ctx context.Context) (content.Try, error) {
			return s.Content.StartPreview(ctx, key.Namespace, key.Name, r, packed)
		},
		Wait: s.Content.WaitForPreview, Cancel: s.Content.CancelPreview,
	}
}
