// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"fmt"
	"regexp"
	"strings"
)

// Limit bounds a secret, maxFound how many secrets a query may find, and maxCalls how many requests list them: the
// server's answers say how many there are, and it may be hostile. MaxTotal bounds all secrets of a query together; a
// Secret of Kubernetes has 1 MiB.
const (
	Limit    = 1 << 20
	MaxTotal = 4 * Limit
	maxFound = 500
	maxCalls = 2000
	// maxName bounds a key in a list. Rewriting refuses longer ones, too.
	maxName = 1024
)

// Store reads the secrets of one store.
type Store interface {
	// Name says which store it is, for messages: "vault https://vault.example.com:8200".
	Name() string
	// Get returns a version of a secret; the current one if version is empty.
	Get(ctx context.Context, key, version string) ([]byte, error)
	// Find returns the current versions of the secrets that a query selects, by key.
	Find(ctx context.Context, q Query) (map[string][]byte, error)
	// Check fails if the credentials are refused. Not every store can tell without reading a secret.
	Check(ctx context.Context) error
}

// Query selects secrets. What is empty selects all.
type Query struct {
	// Path is the beginning of keys.
	Path string
	// Name matches keys.
	Name *regexp.Regexp
	// Tags must all be on a secret.
	Tags map[string]string
}

func (q Query) named(key string) bool { return q.Name == nil || q.Name.MatchString(key) }

func (q Query) tagged(tags map[string]string) bool {
	for key, value := range q.Tags {
		if tags[key] != value {
			return false
		}
	}
	return true
}

// MissingError means that a store has no such secret, or not in this version.
type MissingError struct{ Store, Key string }

func (e *MissingError) Error() string { return fmt.Sprintf("%s has no secret %q", e.Store, e.Key) }

// ManyError means that a query selects too many secrets.
type ManyError struct{ Store string }

func (e *ManyError) Error() string {
	return fmt.Sprintf("the query selects more than %d secrets of %s. Select fewer with path, name or tags", maxFound, e.Store)
}

// calls counts the requests of a query.
type calls int

// another fails if a query made too many requests.
func (c *calls) another(s Store) error {
	if *c++; *c > maxCalls {
		return fmt.Errorf("the query needs more than %d requests to list the secrets of %s. Select fewer with path", maxCalls, s.Name())
	}
	return nil
}

// tooMuch means that the secrets of a query are too large together.
func tooMuch(s Store) error {
	return fmt.Errorf("the secrets of %s that the query selects have more than %d bytes together. Select fewer with path, name or tags", s.Name(), MaxTotal)
}

// failed says what was attempted.
func failed(action, name, key string, err error) error {
	return fmt.Errorf("%s %q of %s: %w", action, key, name, err)
}

// gather reads the secrets of keys. A secret that somebody deletes meanwhile is left out.
func gather(ctx context.Context, s Store, keys []string, read func(ctx context.Context, key string) ([]byte, error)) (map[string][]byte, error) {
	if len(keys) > maxFound {
		return nil, &ManyError{s.Name()}
	}
	out, size := map[string][]byte{}, 0
	for _, key := range keys {
		value, err := read(ctx, key)
		if isMissing(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if size += len(key) + len(value); size > MaxTotal {
			return nil, tooMuch(s)
		}
		out[key] = value
	}
	return out, nil
}

// plausible rejects names in a list that no store has: a hostile one would fill the memory with them. name is the last
// part of key.
func plausible(s Store, name, key string) error {
	if name == "" {
		return fmt.Errorf("%s lists a secret without a name", s.Name())
	}
	if len(key) > maxName {
		return fmt.Errorf("%s lists the key %q…, which has %d bytes; keys may have %d", s.Name(), strings.ToValidUTF8(key[:32], ""), len(key), maxName)
	}
	return nil
}

// clean rejects keys that a server would read as another path.
func clean(key string) error {
	for part := range strings.SplitSeq(key, "/") {
		if part == "." || part == ".." || part == "" {
			return fmt.Errorf("the key %q has an empty part, . or .. in its path", key)
		}
	}
	return nil
}
