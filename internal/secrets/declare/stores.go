// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package declare

import (
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"strings"
)

// regionRE are the names of regions, which become a part of a host's name.
var regionRE = regexp.MustCompile(`^[a-z]{2}(-[a-z]+)+-[0-9]{1,2}$`)

// The names that the clouds allow.
var (
	secretsManagerRE = regexp.MustCompile(`^[A-Za-z0-9/_+=.@-]{1,512}$`)
	googleProjectRE  = regexp.MustCompile(`^[a-z][a-z0-9-]{4,28}[a-z0-9]$`)
	googleNameRE     = regexp.MustCompile(`^[A-Za-z0-9_-]{1,255}$`)
	azureNameRE      = regexp.MustCompile(`^[A-Za-z0-9-]{1,127}$`)
)

func (t *table) ssm() *SSM {
	a := &SSM{Name: t.required("name"), Region: t.region(), KeyID: t.text("keyID", ""), Endpoint: t.endpoint()}
	t.done()
	return a
}

func (t *table) secretsManager() *AWS {
	a := &AWS{Name: t.matching("name", secretsManagerRE, "letters, digits and /_+=.@-"), Region: t.region(), KeyID: t.text("keyID", ""), Endpoint: t.endpoint()}
	t.done()
	return a
}

func (t *table) google() *Google {
	g := &Google{Project: t.matching("project", googleProjectRE, "the ID of a project"), Name: t.matching("name", googleNameRE, "letters, digits, - and _"), Endpoint: t.endpoint()}
	t.done()
	return g
}

func (t *table) azure() *Azure {
	a := &Azure{Vault: t.address("vault"), Name: t.matching("name", azureNameRE, "letters, digits and -")}
	t.done()
	return a
}

// matching is a required text of a form.
func (t *table) matching(key string, form *regexp.Regexp, want string) string {
	node := t.values[key]
	value := t.required(key)
	if value != "" && !form.MatchString(value) {
		t.problem(node, "%s: %s is %q; want %s", t.where, key, value, want)
	}
	return value
}

// region is a required region of AWS.
func (t *table) region() string {
	return t.matching("region", regionRE, "one such as eu-central-1")
}

// clean rejects paths whose parts would lead elsewhere in a URL.
func (t *table) clean(key, value string) {
	if value != "" && (path.Clean("/"+value) != "/"+value || strings.ContainsAny(value, "?#% \\")) {
		t.problem(t.node, "%s: %s is %q; want a path without empty parts, spaces, ?, # and %%", t.where, key, value)
	}
}

// address is a required URL: https, or http on loopback.
func (t *table) address(key string) string {
	node := t.values[key]
	value := t.required(key)
	if value != "" && !safe(value) {
		t.problem(node, "%s: %s is %q; want https://HOST, or http:// on loopback", t.where, key, value)
	}
	return value
}

func (t *table) endpoint() string {
	node := t.values["endpoint"]
	value := t.text("endpoint", "")
	if value != "" && !safe(value) {
		t.problem(node, "%s: endpoint is %q; want https://HOST, or http:// on loopback", t.where, value)
	}
	return value
}

// safe reports whether credentials may be sent to a URL.
func safe(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && Loopback(text)
}

// Loopback reports whether a URL leads to this machine.
func Loopback(text string) bool {
	u, err := url.Parse(text)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
}
