// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package forge

import (
	"fmt"
	"strings"
	"time"
)

// NotFoundError means that something does not exist, or that the credentials may not know of it.
type NotFoundError struct{ Doing string }

func (e *NotFoundError) Error() string {
	return e.Doing + ": not found, or the credentials may not read it"
}

// ScopeError means that the credentials lack a scope or permission.
type ScopeError struct {
	Doing string
	// Missing are the scopes of which one is required, as the forge calls them; empty if it does not say.
	Missing []string
	// Advice replaces the usual one.
	Advice string
}

func (e *ScopeError) Error() string {
	advice := e.Advice
	switch {
	case advice != "":
	case len(e.Missing) > 0:
		advice = "give it the scope " + strings.Join(e.Missing, " or ")
	default:
		advice = "the forge does not say which scope is missing"
	}
	return e.Doing + ": the token is valid, but may not do this: " + advice
}

// TokenError means that the forge does not accept the credentials.
type TokenError struct {
	Doing string
	// Expired says that they were valid once.
	Expired bool
}

func (e *TokenError) Error() string {
	if e.Expired {
		return e.Doing + ": the token has expired: create a new one"
	}
	return e.Doing + ": the forge does not accept the token: it is wrong, expired or revoked"
}

// LimitedError means that the forge accepts no more requests for a while.
type LimitedError struct {
	Doing string
	Until time.Time
}

func (e *LimitedError) Error() string {
	return fmt.Sprintf("%s: the forge limits requests until %s", e.Doing, e.Until.UTC().Format(time.RFC3339))
}

// DownError means that the forge does not work, or not in time. Try again later.
type DownError struct{ Doing, Reason string }

func (e *DownError) Error() string { return e.Doing + ": " + e.Reason }

// RefusedError means that the forge refuses a request, and would do so again.
type RefusedError struct{ Doing, Reason string }

func (e *RefusedError) Error() string { return e.Doing + ": " + e.Reason }

// UnsupportedError means that the forge does not have such a thing.
type UnsupportedError struct{ Doing, Thing string }

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("%s: this forge does not have %s", e.Doing, e.Thing)
}
