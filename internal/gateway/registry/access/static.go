// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/gateway/registry"
)

// Everything stands for all namespaces and hosts.
const Everything = "*"

// tokenPrefix lets scanners of secrets recognise tokens.
const tokenPrefix = "yuba_registry_"

// Rights are the namespaces of the registry that a token may use. Keys are those whose signing keys of
// providers it may change, which Write does not include: a token that publishes must not choose whose
// signatures clients trust. A token that reads anything reads the mirror, too.
type Rights struct{ Read, Write, Keys []string }

// Empty reports whether nothing is allowed.
func (r Rights) Empty() bool { return len(r.Read)+len(r.Write)+len(r.Keys) == 0 }

// Grant is what a static token allows.
type Grant struct {
	Name   string
	Digest string // "sha256:" and the token's digest in hexadecimal
	Rights
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,62}$`)

// NewGrant makes a token, and its grant, which does not contain it.
func NewGrant(name string, rights Rights) (token string, g Grant, err error) {
	if !plainName.MatchString(name) {
		return "", Grant{}, fmt.Errorf("the name %q of a token: expected letters, digits and . _ - @", name)
	}
	token = tokenPrefix + rand.Text()
	return token, Grant{Name: name, Digest: digest(token), Rights: rights}, nil
}

// GrantOf is the grant of a token that somebody else made.
func GrantOf(name, token string, rights Rights) Grant {
	return Grant{Name: name, Digest: digest(token), Rights: rights}
}

func digest(token string) string {
	sum := sha256.Sum256([]byte(token))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// String is a line of a file of tokens: NAME DIGEST read=NS,… write=NS,… keys=NS,….
func (g Grant) String() string {
	line := g.Name + " " + g.Digest
	if len(g.Read) > 0 {
		line += " read=" + strings.Join(g.Read, ",")
	}
	if len(g.Write) > 0 {
		line += " write=" + strings.Join(g.Write, ",")
	}
	if len(g.Keys) > 0 {
		line += " keys=" + strings.Join(g.Keys, ",")
	}
	return line
}

var plainDigest = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// ReadGrants reads a file of tokens. Empty lines, and lines that start with #, do not count.
func ReadGrants(r io.Reader) ([]Grant, error) {
	var grants []Grant
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) < 2 || !plainName.MatchString(fields[0]) || !plainDigest.MatchString(fields[1]) {
			return nil, fmt.Errorf("line %d of the file of tokens: expected NAME sha256:DIGEST read=NAMESPACE,… write=NAMESPACE,… keys=NAMESPACE,…", n)
		}
		g := Grant{Name: fields[0], Digest: fields[1]}
		for _, field := range fields[2:] {
			key, value, _ := strings.Cut(field, "=")
			switch names := strings.Split(value, ","); key {
			case "read":
				g.Read = names
			case "write":
				g.Write = names
			case "keys":
				g.Keys = names
			default:
				return nil, fmt.Errorf("line %d of the file of tokens: %q is not read=…, write=… or keys=…", n, key)
			}
		}
		grants = append(grants, g)
	}
	return grants, lines.Err()
}

// Static knows a list of tokens.
type Static struct {
	byDigest map[string]Grant
	byName   map[string]Grant
}

var _ registry.Access = (*Static)(nil)

// staticUser is the prefix of the names of who has a static token.
const staticUser = "registry-token:"

// NewStatic returns the access of some tokens.
func NewStatic(grants []Grant) (*Static, error) {
	s := &Static{byDigest: map[string]Grant{}, byName: map[string]Grant{}}
	for _, g := range grants {
		if _, twice := s.byName[staticUser+g.Name]; twice {
			return nil, fmt.Errorf("two tokens have the name %q", g.Name)
		}
		s.byDigest[g.Digest], s.byName[staticUser+g.Name] = g, g
	}
	return s, nil
}

// Identify implements registry.Access. Whoever learns something from how long it takes learns of
// digests only.
func (s *Static) Identify(_ context.Context, token string) (registry.Identity, error) {
	g, ok := s.byDigest[digest(token)]
	if !ok {
		return registry.Identity{}, registry.ErrUnknownToken
	}
	return registry.Identity{Name: staticUser + g.Name, RegistryOnly: true, OwnToken: true}, nil
}

// May implements registry.Access.
func (s *Static) May(_ context.Context, who registry.Identity, what registry.Action) (bool, string, error) {
	g, ok := s.byName[who.Name]
	switch {
	case !ok:
		return false, "nobody has this name", nil
	case what.Group != "":
		return false, "there is no API whose objects the token could read", nil
	}
	reads := what.Verb == "get" || what.Verb == "list"
	keys := what.Resource == registry.ResourceSigningKeys
	switch {
	case keys && covers(g.Keys, what.Name):
		return true, "the token may change its signing keys", nil
	case keys && !reads:
		return false, fmt.Sprintf("the token changes the signing keys of %v", g.Keys), nil
	case covers(g.Write, what.Name):
		return true, "the token may write it", nil
	case reads && covers(g.Read, what.Name):
		return true, "the token may read it", nil
	case reads && (what.Resource == registry.ResourceMirror || what.Resource == registry.ResourceRegistry):
		return true, "every token may read the mirror", nil
	case reads:
		return false, fmt.Sprintf("the token reads %v", slices.Concat(g.Read, g.Write, g.Keys)), nil
	}
	return false, fmt.Sprintf("the token writes %v", g.Write), nil
}

func covers(names []string, name string) bool {
	return slices.Contains(names, Everything) || name != "" && slices.Contains(names, name)
}
