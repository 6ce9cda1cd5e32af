// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"crypto/sha256"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// addresses lists the settings whose values can contain a user and a password.
var addresses = []string{"address", "conn_str", "endpoint", "endpoints.s3", "host", "hostname"}

// unknown is a value that may contain a password and is not fully understood. Its digest needs a key: everybody who
// sees the stack could try passwords on another one.
const unknown = "(hidden)"

// Vague reports whether a location hides what it is not sure of.
func Vague(location string) bool { return vague.MatchString(location) }

// vague is a hidden value with or without its digest.
var vague = regexp.MustCompile(`\(hidden(?: ([0-9a-f]{8})-([0-9a-f]{8}))?\)`)

// Digest returns "KEY-DIGEST", both of eight hexadecimal digits, of a text that must not be shown. Digests of different
// keys say nothing about each other.
type Digest func(text string) string

// withDigest adds the digest of a value that is hidden.
func (d Digest) withDigest(name, value, shown string) string {
	if d == nil || shown != unknown {
		return shown
	}
	return "(hidden " + d(name+"="+value) + ")"
}

// SamePlace reports whether two locations are of one place, as far as they tell. Earlier releases and other homes have
// no digests of hidden values, or such of other keys.
func SamePlace(was, now string) bool {
	if vague.ReplaceAllString(was, unknown) != vague.ReplaceAllString(now, unknown) {
		return false
	}
	its := vague.FindAllStringSubmatch(now, -1)
	for i, one := range vague.FindAllStringSubmatch(was, -1) {
		if one[1] != "" && one[1] == its[i][1] && one[2] != its[i][2] {
			return false
		}
	}
	return true
}

// OnlyHiddenDiffers reports whether two locations are of one place except for a hidden value.
func OnlyHiddenDiffers(was, now string) bool {
	return !SamePlace(was, now) && vague.ReplaceAllString(was, unknown) == vague.ReplaceAllString(now, unknown)
}

// bare is a value without user, password and parameters.
func bare(name, value string) string {
	switch {
	case name == "conn_str" && connectionScheme.MatchString(value):
		return bareConnectionURL(value)
	case name == "conn_str" && !strings.Contains(value, "://"):
		return bareConnection(value)
	case strings.Contains(value, "://"):
		return bareURL(value)
	case slices.Contains(addresses, name) && strings.ContainsAny(value, "@?"):
		return unknown
	}
	return value
}

// bareURL refuses an @ that does not end the user: a password with an unescaped slash or question mark
// would be taken for host, port and path.
func bareURL(value string) string {
	u, err := url.Parse(value)
	if err != nil || u.Scheme == "" || u.Host == "" || strings.Contains(u.Host+u.Path+u.RawQuery+u.Fragment, "@") {
		return unknown
	}
	return u.Scheme + "://" + u.Host + u.Path
}

// connectionScheme begins a URL of libpq, which may leave out the host.
var connectionScheme = regexp.MustCompile(`^postgres(ql)?://`)

// placeKeywords say where a database is.
var placeKeywords = []string{"host", "hostaddr", "port", "dbname"}

// bareConnectionURL is the place in a URL of libpq. Parameters can name the host and the others, too.
func bareConnectionURL(value string) string {
	u, err := url.Parse(value)
	if err != nil || u.Opaque != "" || u.Fragment != "" || strings.Contains(u.Host+u.Path+u.RawQuery, "@") {
		return unknown
	}
	parameters, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return unknown
	}
	values := map[string]string{}
	for _, name := range placeKeywords {
		switch given := parameters[name]; len(given) {
		case 0:
		case 1:
			values[name] = given[0]
		default:
			return unknown
		}
	}
	switch {
	case len(values) == 0 && u.Host != "":
		return u.Scheme + "://" + u.Host + u.Path
	case u.Host != "" && values["host"]+values["hostaddr"]+values["port"] != "", u.Path != "" && u.Path != "/" && values["dbname"] != "":
		return unknown // which one counts differs between libraries
	}
	if u.Host != "" {
		values["host"], values["port"] = u.Hostname(), u.Port()
	}
	if name := strings.TrimPrefix(u.Path, "/"); name != "" {
		values["dbname"] = name
	}
	return placeOf(values)
}

// shown is a value of a connection string that can be shown. libpq takes a dbname with :// or = for a
// connection string of its own.
var shown = regexp.MustCompile(`^[A-Za-z0-9_.,:/-]+$`)

// bareConnection is the place in a connection string of libpq's keywords.
func bareConnection(text string) string {
	values, ok := keywords(text)
	if !ok {
		return unknown
	}
	return placeOf(values)
}

// placeOf is the place that keywords name.
func placeOf(values map[string]string) string {
	var kept []string
	for _, name := range placeKeywords {
		value := values[name]
		if value == "" {
			continue
		}
		if !shown.MatchString(value) || strings.Contains(value, "://") {
			return unknown
		}
		kept = append(kept, name+"="+value)
	}
	if len(kept) == 0 {
		return unknown
	}
	return strings.Join(kept, ",")
}

// keyword is one setting of a connection string: a value is quoted, or ends at a space.
var keyword = regexp.MustCompile(`^\s*([a-z_]+)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|((?:[^\s'\\]|\\.)+))(?:\s+|$)`)

// keywords are the settings of a connection string. ok is false unless all of it is understood.
func keywords(text string) (values map[string]string, ok bool) {
	values = map[string]string{}
	for rest := text; strings.TrimSpace(rest) != ""; {
		m := keyword.FindStringSubmatch(rest)
		if m == nil {
			return values, false
		}
		if _, twice := values[m[1]]; twice {
			return values, false
		}
		values[m[1]], rest = escaped.ReplaceAllString(m[2]+m[3], "$1"), rest[len(m[0]):]
	}
	return values, true
}

var escaped = regexp.MustCompile(`\\(.)`)

// hidden is the digest of a value that is secret, but not a password.
func hidden(value string) string {
	return fmt.Sprintf("(secret %.4x)", sha256.Sum256([]byte(value)))
}
