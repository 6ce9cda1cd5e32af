// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package login

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"sync"
	"time"

	"github.com/yuba-dev/yuba/internal/web/access"
)

const (
	// linkLife is how long a link waits for a browser.
	linkLife = time.Minute
	// maxLinks bounds the links that wait, linkBytes are the random bytes of one.
	maxLinks, linkBytes = 1000, 32
)

// links are the one-time links that wait for a browser. Only digests of them are kept.
type links struct {
	now func() time.Time

	mu      sync.Mutex
	waiting map[[sha256.Size]byte]link
}

type link struct {
	person access.Person
	until  time.Time
}

// errNoLink is for links that were used, have expired or never were.
var errNoLink = errors.New("this link was used already or has expired")

// make returns the code of a new link.
func (l *links) make(p access.Person) (string, error) {
	secret := make([]byte, linkBytes)
	rand.Read(secret) //nolint:errcheck // never fails, see its documentation
	code := base64.RawURLEncoding.EncodeToString(secret)
	l.mu.Lock()
	defer l.mu.Unlock()
	for sum, waiting := range l.waiting {
		if !l.now().Before(waiting.until) {
			delete(l.waiting, sum)
		}
	}
	if len(l.waiting) >= maxLinks {
		return "", errors.New("too many links wait for their browsers. Try again in a minute")
	}
	l.waiting[sha256.Sum256([]byte(code))] = link{p, l.now().Add(linkLife)}
	return code, nil
}

// take returns whose link it is. Nobody can use it again.
func (l *links) take(code string) (access.Person, error) {
	sum := sha256.Sum256([]byte(code))
	l.mu.Lock()
	defer l.mu.Unlock()
	found, ok := l.waiting[sum]
	delete(l.waiting, sum)
	if !ok || !l.now().Before(found.until) {
		return access.Person{}, errNoLink
	}
	return found.person, nil
}
