// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"context"
	"errors"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/kit/outbound"
)

// Explain says why an upstream did not give what it was asked for, in words of our own. An error
// that is one of known is explained by that one's text.
func Explain(err error, known ...error) string {
	var limit *archive.LimitError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "no response in time; spec.timeout says how long to wait"
	case errors.Is(err, context.Canceled):
		return "it was interrupted"
	case errors.As(err, &limit):
		return limit.Error()
	}
	for _, k := range known {
		if errors.Is(err, k) {
			return k.Error()
		}
	}
	return outbound.Explain(err)
}
