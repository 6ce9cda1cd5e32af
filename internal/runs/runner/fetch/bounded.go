// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bytes"
)

// Bounded keeps what it is given up to its limit and drops the rest: the process that writes must not die of that. It
// is no bytes.Buffer, whose other ways to be written to know no limit.
type Bounded struct {
	text  bytes.Buffer
	Limit int64
	Over  bool
}

func (b *Bounded) Write(p []byte) (int, error) {
	keep := min(int64(len(p)), b.Limit-int64(b.text.Len()))
	b.Over = b.Over || keep < int64(len(p))
	b.text.Write(p[:keep])
	return len(p), nil
}

// Bytes is what was kept.
func (b *Bounded) Bytes() []byte { return b.text.Bytes() }
