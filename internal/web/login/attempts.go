// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package login

import (
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// An address may fail to log in this often.
const (
	attemptEvery = 6 * time.Second
	attemptBurst = 10
	// maxAddresses bounds what is kept in memory.
	maxAddresses = 10_000
)

// attempts limits failed attempts to log in.
type attempts struct {
	now func() time.Time

	mu   sync.Mutex
	from map[string]*rate.Limiter
}

func newAttempts(now func() time.Time) *attempts {
	return &attempts{now: now, from: map[string]*rate.Limiter{}}
}

// allowed reports whether the address of a request may try again.
func (a *attempts) allowed(r *http.Request) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	limiter := a.from[addressOf(r)]
	return limiter == nil || limiter.TokensAt(a.now()) >= 1
}

// failed counts a failed attempt.
func (a *attempts) failed(r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	address := addressOf(r)
	limiter := a.from[address]
	if limiter == nil {
		if len(a.from) >= maxAddresses {
			clear(a.from)
		}
		limiter = rate.NewLimiter(rate.Every(attemptEvery), attemptBurst)
		a.from[address] = limiter
	}
	limiter.AllowN(a.now(), 1)
}

func addressOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
