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
	// maxUID leaves room in names that templates make with a uid: a DNS label has 63 characters.
	maxUID = 40
	// maxName is the limit of label values: the name of a tenant is one.
	maxName = 63
	// hashDigits distinguish cut or changed texts. Tenants may choose their uids, so there are
	// many: it must be infeasible to find two uids with the same result.
	hashDigits = 16
	// hashMark precedes the digits. Few texts of people end like that.
	hashMark = "-x"
)

// SafeUID returns a DNS label of at most 40 characters for a uid. Valid uids stay unchanged; others
// are changed and get a part of their hash, so that different uids stay different. For the same
// reason, valid uids that look changed are changed, too.
func SafeUID(raw string) string {
	if len(raw) <= maxUID && isLabel(raw) && !looksChanged(raw) {
		return raw
	}
	return join(clean(raw), hash(raw), maxUID)
}

// looksChanged reports whether a label ends like the results of [SafeUID].
func looksChanged(label string) bool {
	at := strings.LastIndex(label, hashMark)
	return at >= 0 && len(label)-at == len(hashMark)+hashDigits && strings.Trim(label[at+len(hashMark):], "0123456789abcdef") == ""
}

// RegistryLabel is the label value for a registry: its name, or a shortened one.
func RegistryLabel(registry string) string {
	if len(registry) <= maxName {
		return registry
	}
	return join(registry, hash(registry), maxName)
}

// SetRegistry records the registry of a tenant.
func SetRegistry(t *tenantv1.Tenant, registry string) {
	label := RegistryLabel(registry)
	metav1.SetMetaDataLabel(&t.ObjectMeta, tenantv1.LabelRegistry, label)
	if label != registry {
		metav1.SetMetaDataAnnotation(&t.ObjectMeta, tenantv1.AnnotationRegistry, registry)
	}
}

// TenantName is the name of the tenant of a row and a template. It is a valid label value.
func TenantName(safeUID, template string) string {
	name := safeUID + "-" + template
	if len(name) <= maxName {
		return name
	}
	return OtherTenantName(safeUID, template)
}

// OtherTenantName is the tenant's name if [TenantName] is too long or taken: a-b with c and a with
// b-c are both a-b-c.
func OtherTenantName(safeUID, template string) string {
	return join(safeUID+"-"+template, hash(safeUID+"/"+template), maxName)
}

// join cuts the beginning to fit both into a length. Names may contain dots, so it removes hyphens
// and dots at the cut.
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

// clean keeps letters, in lower case, and digits, and replaces everything between them by hyphens.
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

// isLabel reports whether a text is a DNS label, except for its length.
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
