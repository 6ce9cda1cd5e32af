// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/secrets/decide"
	"github.com/yuba-dev/yuba/internal/secrets/declare"
)

// All makes values of the named secrets, signers first. Current are the values in the store, for signers
// that are not made anew.
func All(f *declare.File, names []string, current map[string]decide.Value, now time.Time) ([]decide.Made, error) {
	now = now.UTC().Truncate(time.Second)
	var all []decide.Made
	signers := map[string]decide.Value{}
	for part, value := range current {
		signers[part] = value
	}
	for i := range f.Secrets {
		s := &f.Secrets[i]
		if !slices.Contains(names, s.Name) {
			continue
		}
		m := decide.Made{Name: s.Name, Entry: decide.Entry{Generator: s.Generator(), Made: now, Parts: s.Parts()}}
		var err error
		if m.Values, m.Entry.Expires, err = values(s, signers, now); err != nil {
			return nil, fmt.Errorf("make secret %s: %w", s.Name, err)
		}
		for part, value := range m.Values {
			signers[part] = value
		}
		all = append(all, m)
	}
	return all, nil
}

func values(s *declare.Secret, signers map[string]decide.Value, now time.Time) (map[string]decide.Value, *time.Time, error) {
	switch {
	case s.Password != nil:
		text, err := password(s.Password)
		return map[string]decide.Value{s.Name: decide.Value(text)}, nil, err
	case s.Token != nil:
		return map[string]decide.Value{s.Name: decide.Value(token(s.Token))}, nil, nil
	case s.KeyPair != nil:
		made, err := keyPair(s)
		return made, nil, err
	}
	return certificate(s, signers, now)
}

const (
	lower  = "abcdefghijklmnopqrstuvwxyz"
	upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits = "0123456789"
)

// password draws whole passwords until one has all classes: choosing a place for each class would make
// some passwords likelier than others.
func password(p *declare.Password) (string, error) {
	classes := []string{lower, upper, digits}
	if p.Symbols != "" {
		classes = append(classes, p.Symbols)
	}
	alphabet := strings.Join(classes, "")
	for {
		text := make([]byte, p.Length)
		for i := range text {
			n, err := rand.Int(rand.Reader, big.NewInt(int64(len(alphabet))))
			if err != nil {
				return "", fmt.Errorf("read randomness: %w", err)
			}
			text[i] = alphabet[n.Int64()]
		}
		if !slices.ContainsFunc(classes, func(class string) bool { return !strings.ContainsAny(string(text), class) }) {
			return string(text), nil
		}
	}
}

func token(t *declare.Token) string {
	bytes := make([]byte, t.Bytes)
	rand.Read(bytes) //nolint:errcheck // it never fails: without randomness the process ends
	if t.Encoding == "hex" {
		return t.Prefix + hex.EncodeToString(bytes)
	}
	return t.Prefix + base64.RawURLEncoding.EncodeToString(bytes)
}
