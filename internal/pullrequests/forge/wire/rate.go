// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"net/http"
	"strconv"
	"time"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

const (
	// pause is how long to wait when a forge does not say it: GitHub asks for at least a minute.
	pause = time.Minute
	// longest limits what a forge can ask for, as a wrong clock may.
	longest = 2 * time.Hour
)

// Rate returns what the last responses said.
func (c *Client) Rate() forge.Rate {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.rate
}

// heldUntil is the time before which no request is sent; zero if one may be.
func (c *Client) heldUntil() time.Time {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.Now().Before(c.held) {
		return c.held
	}
	return time.Time{}
}

// note keeps what a response says about the limit. GitHub and Azure DevOps prefix the headers with X-, GitLab does not.
func (c *Client) note(r *http.Response) {
	for _, prefix := range []string{"X-Ratelimit-", "Ratelimit-"} {
		remaining, err := strconv.Atoi(r.Header.Get(prefix + "Remaining"))
		if err != nil {
			continue
		}
		limit, _ := strconv.Atoi(r.Header.Get(prefix + "Limit"))           //nolint:errcheck // 0 if unknown
		reset, _ := strconv.ParseInt(r.Header.Get(prefix+"Reset"), 10, 64) //nolint:errcheck // 0 if unknown
		c.lock.Lock()
		c.rate = forge.Rate{Known: true, Limit: limit, Remaining: remaining}
		if reset > 0 {
			c.rate.Reset = time.Unix(reset, 0).UTC()
			if remaining <= 0 {
				c.hold(c.rate.Reset)
			}
		}
		c.lock.Unlock()
		return
	}
}

// hold sends no requests before a time. The lock is held.
func (c *Client) hold(until time.Time) {
	if end := c.Now().Add(longest); until.After(end) {
		until = end
	}
	if until.After(c.held) {
		c.held = until
	}
}

// limited returns until when a refusal limits requests; zero if it is not about that. A 403 is if it says when to come
// back, or that nothing remains: GitHub's way.
func (c *Client) limited(r Refusal) time.Time {
	after, saysWhen := retryAfter(r.Header.Get("Retry-After"), c.Now())
	exhausted := r.Header.Get("X-Ratelimit-Remaining") == "0" || r.Header.Get("Ratelimit-Remaining") == "0"
	switch {
	case r.Status == http.StatusTooManyRequests:
	case r.Status == http.StatusForbidden && (saysWhen || exhausted):
	case r.Status == http.StatusServiceUnavailable && saysWhen:
	default:
		return time.Time{}
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	switch {
	case saysWhen:
		c.hold(after)
	case exhausted && c.rate.Reset.After(c.Now()):
		c.hold(c.rate.Reset)
	default:
		c.hold(c.Now().Add(pause))
	}
	return c.held
}

// retryAfter parses the header: seconds, or a date.
func retryAfter(text string, now time.Time) (time.Time, bool) {
	if seconds, err := strconv.Atoi(text); err == nil && seconds >= 0 {
		return now.Add(time.Duration(min(seconds, int(longest/time.Second))) * time.Second), true
	}
	if at, err := http.ParseTime(text); err == nil {
		return at, true
	}
	return time.Time{}, false
}
