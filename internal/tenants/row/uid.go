// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package row

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

const (
	// maxUID leaves room for the names that templates make of a uid: a label of DNS has 63
	// characters.
	maxUID = 40
	// maxName is what a value of a label may have: the name of a tenant is one.
	maxName = 63
	// hashDigits tell texts apart that were cut or changed. Tenants may choose their uids, and none
	// must find one that becomes what another one's has become: so they are many.
	hashDigits = 16
	// hashMark stands before them. Few texts that end like that come from people.
	hashMark = "-x"
)

// SafeUID makes a uid fit for names and labels: it is a label of DNS of at most 40 characters. What
// is one already stays as it is; everything else is changed and gets a piece of its hash, so that
// different uids stay different. For the same reason a label that looks like one that was changed
// is changed, too.
func SafeUID(raw string) string {
	if len(raw) <= maxUID && isLabel(raw) && !looksChanged(raw) {
		return raw
	}
	return join(clean(raw), hash(raw), maxUID)
}

// looksChanged tells whether a label ends as those do that [SafeUID] makes.
func looksChanged(label string) bool {
	at := strings.LastIndex(label, hashMark)
	return at >= 0 && len(label)-at == len(hashMark)+hashDigits && strings.Trim(label[at+len(hashMark):], "0123456789abcdef") == ""
}

// RegistryLabel is what tenants have for the name of their registry as a label: the name, or what
// stands for it where the value of a label has no room for it.
func RegistryLabel(registry string) string {
	if len(registry) <= maxName {
		return registry
	}
	return join(registry, hash(registry), maxName)
}

// SetRegistry writes into a tenant whose it is.
func SetRegistry(t *tenantv1.Tenant, registry string) {
	label := RegistryLabel(registry)
	metav1.SetMetaDataLabel(&t.ObjectMeta, tenantv1.LabelRegistry, label)
	if label != registry {
		metav1.SetMetaDataAnnotation(&t.ObjectMeta, tenantv1.AnnotationRegistry, registry)
	}
}

// TenantName is the name of the tenant of a row with a template. It is fit for the value of a
// label.
func TenantName(safeUID, template string) string {
	name := safeUID + "-" + template
	if len(name) <= maxName {
		return name
	}
	return OtherTenantName(safeUID, template)
}

// OtherTenantName is the tenant's name when [TenantName] is too long, or is another tenant's
// already: a-b with c and a with b-c are both a-b-c.
func OtherTenantName(safeUID, template string) string {
	return join(safeUID+"-"+template, hash(safeUID+"/"+template), maxName)
}

// join cuts the beginning so that it and the end have at most so many characters. It must not end
// with a hyphen or, as names of templates and registries may have dots, with a dot where it is cut.
func join(beginning, end string, most int) string {
	if room := most - len(end); len(beginning) > room {
		beginning = beginning[:room]
	}
	beginning = strings.TrimRight(beginning, "-.")
	if beginning == "" {
		beginning = "t"
	}
	return beginning + end
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hashMark + hex.EncodeToString(sum[:])[:hashDigits]
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
