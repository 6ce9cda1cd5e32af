// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"reflect"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/web/access"
)

type claimSet = map[string]any

// The names are those that a kube-apiserver with the same flags makes.
func TestClaimsNameAPerson(t *testing.T) {
	const issuer = "https://id.example.com"
	everybody := []string{authenticated}
	for sentence, c := range map[string]struct {
		config Claims
		claims claimSet
		want   access.Person
	}{
		"by default the subject, after the issuer":   {Claims{}, claimSet{"sub": "7"}, access.Person{Name: issuer + "#7", Groups: everybody}},
		"an e-mail address has no prefix":            {Claims{Username: "email"}, claimSet{"sub": "7", "email": "a@b.c"}, access.Person{Name: "a@b.c", Groups: everybody}},
		"unless one is set":                          {Claims{Username: "email", UsernamePrefix: "oidc:"}, claimSet{"email": "a@b.c", "email_verified": true}, access.Person{Name: "oidc:a@b.c", Groups: everybody}},
		"a hyphen is no prefix":                      {Claims{Username: "login", UsernamePrefix: "-"}, claimSet{"login": "ada"}, access.Person{Name: "ada", Groups: everybody}},
		"groups are a list":                          {Claims{Groups: "groups", GroupsPrefix: "oidc:"}, claimSet{"sub": "7", "groups": []any{"a", "b"}}, access.Person{Name: issuer + "#7", Groups: []string{"oidc:a", "oidc:b", authenticated}}},
		"or one":                                     {Claims{Groups: "role"}, claimSet{"sub": "7", "role": "dev"}, access.Person{Name: issuer + "#7", Groups: []string{"dev", authenticated}}},
		"or none":                                    {Claims{Groups: "groups"}, claimSet{"sub": "7"}, access.Person{Name: issuer + "#7", Groups: everybody}},
		"groups nobody asked for do not count":       {Claims{}, claimSet{"sub": "7", "groups": []any{"admins"}}, access.Person{Name: issuer + "#7", Groups: everybody}},
		"a prefix takes the system's names in":       {Claims{GroupsPrefix: "oidc:", Groups: "groups"}, claimSet{"sub": "system:x", "groups": []any{"system:masters"}}, access.Person{Name: issuer + "#system:x", Groups: []string{"oidc:system:masters", authenticated}}},
		"a display name is shown without tricks":     {Claims{}, claimSet{"sub": "7", "name": "Ada\n \u202eecalevoL"}, access.Person{Name: issuer + "#7", Groups: everybody, Display: `Ada \u202eecalevoL`}},
		"a display name that is no text is not used": {Claims{}, claimSet{"sub": "7", "name": []any{"x"}}, access.Person{Name: issuer + "#7", Groups: everybody}},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, err := c.config.Person(issuer, c.claims)
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("%+v, %v, want %+v", got, err, c.want)
			}
		})
	}
}

func TestClaimsThatNameNobody(t *testing.T) {
	for sentence, c := range map[string]struct {
		config Claims
		claims claimSet
		want   string
	}{
		"no such claim":                {Claims{Username: "email"}, claimSet{"sub": "7"}, `has no claim "email"`},
		"an empty name":                {Claims{}, claimSet{"sub": ""}, "is not a name"},
		"a number":                     {Claims{}, claimSet{"sub": 7.0}, "is not a name"},
		"an address nobody has tested": {Claims{Username: "email"}, claimSet{"email": "a@b.c", "email_verified": false}, "has not verified"},
		"a verdict that is none":       {Claims{Username: "email"}, claimSet{"email": "a@b.c", "email_verified": "true"}, "has not verified"},
		"a name of the system":         {Claims{UsernamePrefix: "-"}, claimSet{"sub": "system:admin"}, `begins with "system:"`},
		"one by the prefix":            {Claims{UsernamePrefix: "system:serviceaccount:"}, claimSet{"sub": "a:b"}, `begins with "system:"`},
		"the anonymous name":           {Claims{UsernamePrefix: "-"}, claimSet{"sub": access.AnonymousUser}, `begins with "yuba:"`},
		"a group of the system":        {Claims{Groups: "groups"}, claimSet{"sub": "7", "groups": []any{"a", "system:masters"}}, `the group "system:masters"`},
		"one group that is the system": {Claims{Groups: "groups"}, claimSet{"sub": "7", "groups": "system:nodes"}, `the group "system:nodes"`},
		"groups that are none":         {Claims{Groups: "groups"}, claimSet{"sub": "7", "groups": []any{1.0}}, "is not a list of groups"},
		"an object of groups":          {Claims{Groups: "groups"}, claimSet{"sub": "7", "groups": claimSet{}}, "is not a list of groups"},
		"an empty group":               {Claims{Groups: "groups"}, claimSet{"sub": "7", "groups": []any{""}}, "has an empty group"},
		"groups that are elsewhere":    {Claims{Groups: "groups"}, claimSet{"sub": "7", "_claim_names": claimSet{"groups": "src1"}}, "they are too many"},
		"a name with a line break":     {Claims{UsernamePrefix: "-"}, claimSet{"sub": "a\r\nImpersonate-Group: system:masters"}, "control characters"},
		"a name that reads backwards":  {Claims{UsernamePrefix: "-"}, claimSet{"sub": "a\u202eb"}, "control characters"},
		"a name without end":           {Claims{UsernamePrefix: "-"}, claimSet{"sub": strings.Repeat("a", 2000)}, "too long"},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got, err := c.config.Person("https://id.example.com", c.claims); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%+v, error %v, want one that says %q", got, err, c.want)
			}
		})
	}
}
