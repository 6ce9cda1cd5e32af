// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package row

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

// Row is what a registry knows of one tenant.
type Row struct {
	// UID is as in the column, SafeUID valid in names and labels.
	UID, SafeUID string
	// HostOrURL is the tenant's address, Host the host in it.
	HostOrURL, Host string
	// Activate is as in the column, Active its meaning.
	Activate string
	Active   bool
	// Extra are the other values, by the names that templates use.
	Extra map[string]string
}

// ErrNoUID is the error of a row without a uid.
var ErrNoUID = errors.New("no uid")

// MissingColumnError is the error of a row without a column that the registry maps.
type MissingColumnError struct {
	// Columns are the missing columns.
	Columns []string
}

func (e *MissingColumnError) Error() string {
	if len(e.Columns) == 1 {
		return "there is no column " + quote(e.Columns[0])
	}
	names := make([]string, len(e.Columns))
	for i, c := range e.Columns {
		names[i] = quote(c)
	}
	return "there are no columns " + strings.Join(names, ", ")
}

// maxValues limits the values of a row: they become annotations of its tenants, which may have 256
// KiB together.
const maxValues = 200 << 10

// TooLongError is the error of a row whose values are too long for a tenant.
type TooLongError struct{ Bytes int }

func (e *TooLongError) Error() string {
	return fmt.Sprintf("its values have %d bytes together, and a tenant has room for %d", e.Bytes, maxValues)
}

// length is the length of a row's values, with the extra ones as JSON.
func (r *Row) length() int {
	n, extra := len(r.UID)+len(r.HostOrURL)+len(r.Activate), 0
	for name, value := range r.Extra {
		extra += len(name) + len(value)
	}
	// JSON needs at most six bytes for one. Marshal only rows that might be too long.
	if n+6*extra <= maxValues {
		return n + extra
	}
	text, err := json.Marshal(r.Extra)
	if err != nil {
		return n + extra // texts can be written
	}
	return n + len(text)
}

// quote quotes names of columns, which may contain anything.
func quote(name string) string { return fmt.Sprintf("%q", name) }

// Map interprets a raw row. A missing mapped column is an error; NULL is the empty text. Without an
// error, the row has a uid.
func Map(columns map[string]*string, m tenantv1.ValueMappings, extra map[string]string) (Row, error) {
	var missing []string
	text := func(column string) string {
		value, there := columns[column]
		switch {
		case !there:
			missing = append(missing, column)
			return ""
		case value == nil:
			return ""
		}
		return *value
	}
	r := Row{UID: text(m.UID), Activate: text(m.Activate), Extra: make(map[string]string, len(extra))}
	if m.HostOrURL != "" {
		r.HostOrURL = text(m.HostOrURL)
	}
	for name, column := range extra {
		r.Extra[name] = text(column)
	}
	r.Host, r.Active = Host(r.HostOrURL), Truthy(r.Activate)
	if !blank(r.UID) {
		r.SafeUID = SafeUID(r.UID)
	}
	switch {
	case len(missing) > 0:
		slices.Sort(missing)
		return r, &MissingColumnError{Columns: slices.Compact(missing)}
	case blank(r.UID):
		return r, ErrNoUID
	case r.length() > maxValues:
		return r, &TooLongError{Bytes: r.length()}
	}
	return r, nil
}

// blank reports whether a uid is empty, or only white space.
func blank(uid string) bool { return strings.TrimSpace(uid) == "" }

// Columns lists the columns that a registry maps, each once, sorted.
func Columns(m tenantv1.ValueMappings, extra map[string]string) []string {
	columns := []string{m.UID, m.Activate}
	if m.HostOrURL != "" {
		columns = append(columns, m.HostOrURL)
	}
	for _, column := range extra {
		columns = append(columns, column)
	}
	slices.Sort(columns)
	return slices.Compact(columns)
}

// Truthy reports whether a value of the column activate means that the tenant is active.
func Truthy(value string) bool {
	switch value {
	case "1", "true", "TRUE", "True", "yes", "YES", "Yes":
		return true
	}
	return false
}

// Host is the host in a URL or address, without port.
func Host(hostOrURL string) string {
	rest := strings.TrimSpace(hostOrURL)
	if u, err := url.Parse(rest); err == nil && u.Host != "" {
		return u.Hostname()
	}
	// There is no scheme, or not a valid one, as in example.org:8080/path.
	if _, after, ok := strings.Cut(rest, "://"); ok {
		rest = after
	}
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		rest = rest[at+1:]
	}
	if strings.HasPrefix(rest, "[") {
		if end := strings.IndexByte(rest, ']'); end > 0 {
			return rest[1:end]
		}
	}
	if strings.Count(rest, ":") > 1 {
		return rest // an IPv6 address, which has no port without brackets
	}
	host, _, _ := strings.Cut(rest, ":")
	return host
}
