// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package row

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const (
	// maxUID leaves room for the names that templates make of a uid: a label of DNS has 63 characters.
	maxUID = 40
	// maxName is what a value of a label may have: the name of a tenant is one.
	maxName = 63
	// hashDigits tell texts apart that were cut or changed.
	hashDigits = 8
)

// SafeUID makes a uid fit for names and labels: it is a label of DNS of at most 40 characters. What is one already stays as
// it is; everything else is changed and gets a piece of its hash, so that different uids stay different.
func SafeUID(raw string) string {
	if len(raw) <= maxUID && isLabel(raw) {
		return raw
	}
	return join(clean(raw), hash(raw), maxUID)
}

// TenantName is the name of the tenant of a row with a template. It is fit for the value of a label.
func TenantName(safeUID, template string) string {
	name := safeUID + "-" + template
	if len(name) <= maxName {
		return name
	}
	return OtherTenantName(safeUID, template)
}

// OtherTenantName is the tenant's name when [TenantName] is too long, or is another tenant's already: a-b with c and a with
// b-c are both a-b-c.
func OtherTenantName(safeUID, template string) string {
	return join(safeUID+"-"+template, hash(safeUID+"/"+template), maxName)
}

// join cuts the beginning so that it and the end have at most so many characters. It must not end with a hyphen or, as names of
// templates may have dots, with a dot where it is cut.
func join(beginning, end string, most int) string {
	if room := most - len(end) - 1; len(beginning) > room {
		beginning = beginning[:room]
	}
	beginning = strings.TrimRight(beginning, "-.")
	if beginning == "" {
		// A label of DNS may begin with a digit, but names of Services may not.
		return "t-" + end
	}
	return beginning + "-" + end
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:hashDigits]
}

// clean keeps the letters, in lower case, and the digits. All between them becomes one hyphen.
func clean(raw string) string {
	var b strings.Builder
	for _, c := range raw {
		if b.Len() >= maxUID {
			break
		}
		switch {
		case c >= 'A' && c <= 'Z':
			b.WriteRune(c + 'a' - 'A')
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			b.WriteRune(c)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	return strings.Trim(b.String(), "-")
}

// isLabel tells whether a text is a label of DNS, its length aside.
func isLabel(text string) bool {
	if text == "" || text[0] == '-' || text[len(text)-1] == '-' {
		return false
	}
	for i := range len(text) {
		c := text[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}
