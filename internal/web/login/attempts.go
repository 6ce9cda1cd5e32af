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

// An address may try to log in this often.
const (
	attemptEvery = 6 * time.Second
	attemptBurst = 10
	// maxAddresses bounds what is kept in memory.
	maxAddresses = 10_000
)

// attempts limits attempts to log in.
type attempts struct {
	now func() time.Time

	mu   sync.Mutex
	from map[string]*rate.Limiter
}

func newAttempts(now func() time.Time) *attempts {
	return &attempts{now: now, from: map[string]*rate.Limiter{}}
}

// allow reports whether the address of a request may try again.
func (a *attempts) allow(r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	limiter := a.from[host]
	if limiter == nil {
		if len(a.from) >= maxAddresses {
			clear(a.from)
		}
		limiter = rate.NewLimiter(rate.Every(attemptEvery), attemptBurst)
		a.from[host] = limiter
	}
	return limiter.AllowN(a.now(), 1)
}
