// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"sync"
	"time"
)

// Tokens keeps the tokens of logins until shortly before they expire, so that the refreshes of many objects with the
// same credentials log in once. The zero value is ready, and safe for concurrent use.
type Tokens struct {
	mu   sync.Mutex
	kept map[tokenKey]token
	now  func() time.Time
}

// The bounds of Tokens: revoked rights end after tokenLife at most, and a token that a server refuses is replaced once
// it is tokenRest old, as some servers do not tell a revoked token from a right that it never had.
const (
	maxTokens = 1000
	tokenLife = time.Hour
	tokenRest = time.Minute
)

type tokenKey [sha256.Size]byte

// keyOf identifies a login: everything that is sent, and where. Who knows all of it may have the token.
func keyOf(login ...any) tokenKey {
	text, err := json.Marshal(login)
	if err != nil { // texts
		panic(err)
	}
	return sha256.Sum256(text)
}

type token struct {
	text        string
	since, till time.Time
}

func (t *Tokens) time() time.Time {
	if t.now != nil {
		return t.now()
	}
	return time.Now()
}

// get returns a kept token, or that of a login. login returns how long it lasts; a token that lasts 0 is not kept.
func (t *Tokens) get(ctx context.Context, key tokenKey, login func(context.Context) (string, time.Duration, error)) (string, error) {
	t.mu.Lock()
	kept, ok := t.kept[key]
	t.mu.Unlock()
	if ok && t.time().Before(kept.till) {
		return kept.text, nil
	}
	text, life, err := login(ctx)
	if err != nil || life <= 0 {
		return text, err
	}
	now := t.time()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kept == nil {
		t.kept = map[tokenKey]token{}
	}
	for other, kept := range t.kept {
		// A token that was refused is known for as long as another refresh may still have it.
		if !now.Before(kept.since.Add(tokenLife)) || len(t.kept) >= maxTokens {
			delete(t.kept, other)
		}
	}
	t.kept[key] = token{text, now, now.Add(min(life*9/10, tokenLife))}
	return text, nil
}

// refused ends a token that a server refuses, and reports whether to log in again. invalid: the server says that the
// token is not valid, so that it is not only a right that is missing.
func (t *Tokens) refused(key tokenKey, text string, invalid bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept, ok := t.kept[key]
	if !ok || kept.text == text && !invalid && t.time().Sub(kept.since) < tokenRest {
		return false
	}
	if kept.text == text { // it stays known, so that concurrent refreshes with it log in again, too
		kept.till = time.Time{}
		t.kept[key] = kept
	}
	return true
}

// renewable is a source whose tokens are kept.
type renewable interface {
	login(ctx context.Context) (string, time.Duration, error)
	refused(token string) bool
}

// authorized makes a call with a token; again, if the server does not accept a kept token any more.
func authorized(ctx context.Context, source TokenSource, call func(token string) error) error {
	token, err := source.Token(ctx)
	if err != nil {
		return err
	}
	err = call(token)
	if r, ok := source.(renewable); ok && isStatus(err, http.StatusUnauthorized) && r.refused(token) {
		if token, err = source.Token(ctx); err == nil {
			err = call(token)
		}
	}
	return err
}

// checkLogin fails if credentials are refused. A kept token would not tell.
func checkLogin(ctx context.Context, source TokenSource) error {
	if r, ok := source.(renewable); ok {
		_, _, err := r.login(ctx)
		return err
	}
	_, err := source.Token(ctx)
	return err
}
