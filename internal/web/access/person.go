// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/rest"
)

// The identity of those who have not logged in, where a server lets them read.
const (
	AnonymousUser  = "yuba:web-anonymous"
	AnonymousGroup = "yuba:web-anonymous"
)

// Person is who uses the page.
type Person struct {
	Name   string              `json:"name"`
	UID    string              `json:"uid,omitempty"`
	Groups []string            `json:"groups,omitempty"`
	Extra  map[string][]string `json:"extra,omitempty"`
	// Display is the name that their identity provider shows; empty for Name.
	Display string `json:"display,omitempty"`
}

// PersonOf is the person that an API server has authenticated.
func PersonOf(user authenticationv1.UserInfo) Person {
	p := Person{Name: user.Username, UID: user.UID, Groups: user.Groups}
	for key, values := range user.Extra {
		if p.Extra == nil {
			p.Extra = map[string][]string{}
		}
		p.Extra[key] = values
	}
	return p
}

// Anonymous is who has not logged in.
//
// The API server would add the group of authenticated people to whoever is in none of its own two.
func Anonymous() Person {
	return Person{Name: AnonymousUser, Groups: []string{AnonymousGroup, user.AllUnauthenticated}}
}

// IsAnonymous reports whether the person has not logged in. They may change nothing.
func (p Person) IsAnonymous() bool { return p.Name == AnonymousUser }

// Called is the name to show: an e-mail address or a login without what only machines need.
func (p Person) Called() string {
	if p.Display != "" {
		return p.Display
	}
	if account, ok := strings.CutPrefix(p.Name, "system:serviceaccount:"); ok {
		return strings.ReplaceAll(account, ":", "/")
	}
	return p.Name
}

// Key identifies the person with their groups: two logins with the same key have the same rights.
func (p Person) Key() string {
	p.Display = ""
	p.Groups = slices.Sorted(slices.Values(p.Groups))
	data, err := json.Marshal(p)
	if err != nil {
		return p.Name // cannot happen: these are strings
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}

func (p Person) impersonation() rest.ImpersonationConfig {
	return rest.ImpersonationConfig{UserName: p.Name, UID: p.UID, Groups: p.Groups, Extra: p.Extra}
}
