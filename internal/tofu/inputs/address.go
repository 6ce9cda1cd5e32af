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

// bare is a value without user, password and parameters. A value that is not fully understood becomes
// a digest, because a location is readable by everybody who sees the stack.
func bare(name, value string) string {
	switch {
	case name == "conn_str" && !strings.Contains(value, "://"):
		return bareConnection(value)
	case strings.Contains(value, "://"):
		return bareURL(value)
	case slices.Contains(addresses, name) && strings.ContainsAny(value, "@?"):
		return hidden(value)
	}
	return value
}

// bareURL refuses an @ that does not end the user: a password with an unescaped slash or question mark
// would be taken for host, port and path.
func bareURL(value string) string {
	u, err := url.Parse(value)
	if err != nil || u.Scheme == "" || u.Host == "" || strings.Contains(u.Host+u.Path+u.RawQuery+u.Fragment, "@") {
		return hidden(value)
	}
	return u.Scheme + "://" + u.Host + u.Path
}

// shown is a value of a connection string that can be shown. libpq takes a dbname with :// or = for a
// connection string of its own.
var shown = regexp.MustCompile(`^[A-Za-z0-9_.,:/-]+$`)

// bareConnection is the place in a connection string of libpq's keywords.
func bareConnection(text string) string {
	values, ok := keywords(text)
	var kept []string
	for _, name := range []string{"host", "hostaddr", "port", "dbname"} {
		value := values[name]
		if value == "" {
			continue
		}
		if !shown.MatchString(value) || strings.Contains(value, "://") {
			ok = false
		}
		kept = append(kept, name+"="+value)
	}
	if !ok || len(kept) == 0 {
		return hidden(text)
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
		values[m[1]], rest = escaped.ReplaceAllString(m[2]+m[3], "$1"), rest[len(m[0]):]
	}
	return values, true
}

var escaped = regexp.MustCompile(`\\(.)`)

func hidden(value string) string {
	return fmt.Sprintf("(secret %.4x)", sha256.Sum256([]byte(value)))
}
