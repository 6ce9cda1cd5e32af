// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
	"github.com/yuba-dev/yuba/internal/web/access"
)

// Claims say which claims of an ID token name a person, as the flags --oidc-… of kube-apiserver.
type Claims struct {
	// Username is the claim with the name; empty for sub. UsernamePrefix stands before it: empty for
	// ISSUER# unless the claim is email, "-" for none.
	Username, UsernamePrefix string
	// Groups is the claim with the groups, a string or a list of strings; empty for no groups.
	// GroupsPrefix stands before each.
	Groups, GroupsPrefix string
}

const (
	claimSubject = "sub"
	claimEmail   = "email"
	// noPrefix is the value of a prefix that is none.
	noPrefix = "-"
	// authenticated is the group of everybody whom an API server knows. It adds the group itself to
	// those who log in there, but not to a SubjectAccessReview.
	authenticated = "system:authenticated"
	// maxName bounds names, and maxDisplay what is shown of another one.
	maxName, maxDisplay = 1000, 80
)

// reserved are the beginnings of names and groups that only the API server and Yuba give.
var reserved = []string{"system:", "yuba:"}

// Person returns whom the claims of an issuer's token name.
func (c Claims) Person(issuer string, claims map[string]any) (access.Person, error) {
	name, err := c.name(issuer, claims)
	if err != nil {
		return access.Person{}, err
	}
	groups, err := c.groups(claims)
	if err != nil {
		return access.Person{}, err
	}
	return access.Person{Name: name, Groups: append(groups, authenticated), Display: displayOf(claims)}, nil
}

func (c Claims) name(issuer string, claims map[string]any) (string, error) {
	claim := c.Username
	if claim == "" {
		claim = claimSubject
	}
	value, ok := claims[claim]
	if !ok {
		return "", fmt.Errorf("its token has no claim %q, which --web-oidc-username-claim names. A scope may be missing in --web-oidc-scopes, or the provider puts the claim elsewhere", claim)
	}
	name, ok := value.(string)
	if !ok || name == "" {
		return "", fmt.Errorf("the claim %q of its token is not a name", claim)
	}
	if claim == claimEmail {
		if verified, ok := claims["email_verified"]; ok && verified != true {
			return "", fmt.Errorf("it has not verified the e-mail address %s", diagnostic.Printable(name))
		}
	}
	prefix := c.UsernamePrefix
	switch {
	case prefix == noPrefix:
		prefix = ""
	case prefix == "" && claim != claimEmail:
		prefix = issuer + "#"
	}
	return prefix + name, usable("name", prefix+name)
}

func (c Claims) groups(claims map[string]any) ([]string, error) {
	if c.Groups == "" {
		return nil, nil
	}
	value, ok := claims[c.Groups]
	if !ok {
		// A token that is too small for all groups says where else they are.
		if elsewhere, ok := claims["_claim_names"].(map[string]any); ok && elsewhere[c.Groups] != nil {
			return nil, fmt.Errorf("its token does not contain the groups themselves: they are too many. Have the provider put only the groups that matter here into the claim %q", c.Groups)
		}
		return nil, nil
	}
	var groups []string
	switch value := value.(type) {
	case string:
		groups = []string{value}
	case []any:
		for _, element := range value {
			group, ok := element.(string)
			if !ok {
				return nil, fmt.Errorf("the claim %q of its token is not a list of groups", c.Groups)
			}
			groups = append(groups, group)
		}
	default:
		return nil, fmt.Errorf("the claim %q of its token is not a list of groups", c.Groups)
	}
	prefix := c.GroupsPrefix
	if prefix == noPrefix {
		prefix = ""
	}
	for i := range groups {
		if groups[i] == "" {
			return nil, fmt.Errorf("the claim %q of its token has an empty group", c.Groups)
		}
		groups[i] = prefix + groups[i]
		if err := usable("group", groups[i]); err != nil {
			return nil, err
		}
	}
	return groups, nil
}

// usable refuses names that would give rights which no provider may give, or that read like others.
func usable(what, name string) error {
	for _, beginning := range reserved {
		if strings.HasPrefix(name, beginning) {
			return fmt.Errorf("it says that you have the %s %q, and no provider may give one that begins with %q", what, diagnostic.Printable(name), beginning)
		}
	}
	if len(name) > maxName || diagnostic.Printable(name) != name || strings.ContainsAny(name, "\r\n\t") {
		return fmt.Errorf("it says that you have a %s that is too long or has control characters", what)
	}
	return nil
}

// displayOf is how the person calls themselves. It is shown beside their name and means nothing else.
func displayOf(claims map[string]any) string {
	name, _ := claims["name"].(string)
	name = strings.Join(strings.Fields(diagnostic.Printable(name)), " ")
	if utf8.RuneCountInString(name) > maxDisplay {
		name = string([]rune(name)[:maxDisplay]) + "…"
	}
	return name
}
