// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package blob

import (
	"context"
	"io"
	"iter"
)

// Bucket is what the registry's stores need of a [Plain]: tests put faults in front of one.
type Bucket interface {
	Put(ctx context.Context, key string, r io.Reader) error
	Create(ctx context.Context, key string, r io.Reader) error
	Open(ctx context.Context, key string) (io.ReadCloser, error)
	Get(ctx context.Context, key string, limit int64) ([]byte, error)
	Stat(ctx context.Context, key string) (Info, error)
	Delete(ctx context.Context, key string) error
	List(ctx context.Context, prefix string) iter.Seq2[Info, error]
}
