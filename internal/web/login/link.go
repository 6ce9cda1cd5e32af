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
	// maxLinks bounds the links that wait, maxOwnLinks those of one person.
	maxLinks, maxOwnLinks = 1000, 5
	// linkBytes are the random bytes of a link.
	linkBytes = 32
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
	own := 0
	for sum, waiting := range l.waiting {
		if !l.now().Before(waiting.until) {
			delete(l.waiting, sum)
		} else if waiting.person.Name == p.Name {
			own++
		}
	}
	if len(l.waiting) >= maxLinks || own >= maxOwnLinks {
		return "", errors.New("too many links wait for their browsers. Try again in a minute")
	}
	l.waiting[sha256.Sum256([]byte(code))] = link{p, l.now().Add(linkLife)}
	return code, nil
}

// look returns whose link it is, and leaves it as it is.
func (l *links) look(code string) (access.Person, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	found, ok := l.waiting[sha256.Sum256([]byte(code))]
	return found.person, ok && l.now().Before(found.until)
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
