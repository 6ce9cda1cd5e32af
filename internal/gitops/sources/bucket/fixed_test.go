// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"context"
	"io"
	"strings"
)

// fixed is a store whose objects are all empty.
type fixed struct{ etag string }

func (f fixed) list(context.Context, string, func(object) error) error { return nil }

func (f fixed) open(context.Context, object) (content, error) {
	return content{io.NopCloser(strings.NewReader("")), f.etag}, nil
}

func (f fixed) peek(context.Context, string) (content, error) { return content{}, errGone }
