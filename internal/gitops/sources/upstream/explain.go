// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/kit/outbound"
)

// Problem is why a request failed, in our own words: it can be shown as it is.
type Problem struct {
	Text string
	// Reason overrides the reason of the attempt.
	Reason string
	// Stalled is true if the source must be changed.
	Stalled bool
	// Content is true if the requested content itself cannot be used: trying again is useless.
	Content bool
}

func (p *Problem) Error() string { return p.Text }

// Failed returns a failure for a source's status that may end without a change of the source.
func Failed(reason string, cause error, format string, args ...any) error {
	return &archive.FetchError{Reason: reason, Message: fmt.Sprintf(format, args...), Err: cause}
}

// Stalled returns a failure for a source's status that only a change of the source ends.
func Stalled(reason string, cause error, format string, args ...any) error {
	return &archive.FetchError{Reason: reason, Message: fmt.Sprintf(format, args...), Err: cause, Stalled: true}
}

// Attempted makes a failure for a source's status from an error: what was attempted, and why it
// failed. It keeps errors that are such failures already. explain returns "" for unknown errors.
func Attempted(reason, action string, err error, explain func(error) string) error {
	var (
		done    *archive.FetchError
		limit   *archive.LimitError
		problem *Problem
	)
	if err == nil || errors.As(err, &done) {
		return err
	}
	text, stalled := "", false
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		text = "it took longer than spec.timeout allows"
	case errors.Is(err, context.Canceled):
		text = "it was interrupted"
	case errors.As(err, &limit):
		text = limit.Error()
	case errors.As(err, &problem):
		text, reason, stalled = problem.Text, cmp.Or(problem.Reason, reason), problem.Stalled
	default:
		text = explain(err)
	}
	if text == "" {
		text = outbound.Explain(err)
	}
	return &archive.FetchError{Reason: reason, Message: action + ": " + text, Err: err, Stalled: stalled}
}

// Status describes an HTTP status other than success, with the hint for it if there is one.
func Status(server string, status int, hints map[int]string) string {
	text := fmt.Sprintf("the %s answers %d %s", server, status, http.StatusText(status))
	if hint := hints[status]; hint != "" {
		text += ": " + hint
	}
	return text
}
