// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package names

import (
	"fmt"
	"regexp"
	"strings"

	"golang.org/x/net/idna"
)

// Apex is the name of the domain itself.
const Apex = "@"

// Rules are those of a pool.
type Rules struct {
	// Whole: the name is Apex, and nothing else.
	Whole bool
	// International allows names beyond ASCII.
	International bool
	// Reserved are names that nobody has, beside [Own], and Blocked texts that no name contains.
	Reserved, Blocked []string
}

// Own are names that nobody can claim: those that mail, certificates and name servers give a meaning, and those that
// would speak for the pool.
var Own = []string{
	"abuse", "account", "accounts", "admin", "administrator", "api", "auth", "autoconfig", "autodiscover", "billing", "blog",
	"broadcasthost", "cdn", "console", "dns", "docs", "ftp", "gitea", "harbor", "help", "hostmaster", "imap", "info", "internal",
	"isatap", "localdomain", "localhost", "login", "mail", "mx", "news", "noc", "ns", "ns1", "ns2", "ns3", "ns4", "oauth", "pay",
	"payment", "pop", "pop3", "postmaster", "registry", "root", "security", "smtp", "sso", "staff", "status", "support", "system",
	"test", "usenet", "vpn", "webmail", "webmaster", "wpad", "www",
}

// ReservedError means that nobody can have a name.
type ReservedError struct{ Name, Because string }

func (e *ReservedError) Error() string { return fmt.Sprintf("the name %s %s", e.Name, e.Because) }

var (
	label      = regexp.MustCompile(`^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$`)
	controlled = regexp.MustCompile(`[[:cntrl:]]|[^[:print:]\x{80}-\x{10FFFF}]`)
)

// Parse checks a name, and returns it as it is in DNS.
func Parse(text string, r Rules) (string, error) {
	switch {
	case r.Whole && text == Apex:
		return Apex, nil
	case r.Whole:
		return "", fmt.Errorf("the pool gives its domain as a whole: the name is %q", Apex)
	case text == Apex:
		return "", fmt.Errorf("the name %q is for pools with spec.whole", Apex)
	}
	ascii, seen, err := parse(text, r.International)
	if err != nil {
		return "", err
	}
	return ascii, r.check(ascii, seen)
}

// parse returns a name's form in DNS, and the one that people see.
func parse(text string, international bool) (ascii, seen string, err error) {
	shown := fmt.Sprintf("%+q", text) // letters that look alike are different here
	if isASCII(text) && !strings.HasPrefix(text, "xn--") {
		switch {
		case len(text) > 63:
			return "", "", fmt.Errorf("the name %s has %d characters: at most 63 are allowed", shown, len(text))
		case !label.MatchString(text):
			return "", "", fmt.Errorf("the name %s is not valid: it has lower-case letters, digits and hyphens, begins with a letter, and does not end with a hyphen (RFC 1035)", shown)
		case len(text) > 3 && text[2:4] == "--":
			return "", "", fmt.Errorf("the name %s is not valid: hyphens in the third and fourth place are for internationalized names (RFC 5891)", shown)
		}
		return text, text, nil
	}
	if !international {
		return "", "", fmt.Errorf("the name %s is not allowed: the pool allows ASCII letters, digits and hyphens (spec.international)", shown)
	}
	if controlled.MatchString(text) {
		return "", "", fmt.Errorf("the name %s has control characters", shown)
	}
	ascii, err = idna.Registration.ToASCII(text)
	if err == nil && len(ascii) > 63 {
		err = fmt.Errorf("%s has %d characters, and at most 63 are allowed", ascii, len(ascii))
	}
	if err == nil {
		seen, err = idna.Registration.ToUnicode(ascii)
	}
	if err != nil || strings.Contains(ascii, ".") {
		return "", "", fmt.Errorf("the name %s is not a valid internationalized name (RFC 5891): %w", shown, err)
	}
	if strings.HasPrefix(text, "xn--") && isASCII(seen) {
		return "", "", fmt.Errorf("the name %s is an ASCII name in disguise", shown)
	}
	return ascii, seen, nil
}

// check applies the rules that are about what people see.
func (r Rules) check(ascii, seen string) error {
	if !isASCII(seen) {
		if err := oneScript(seen); err != nil {
			return fmt.Errorf("the name %s (%+q) %w", ascii, seen, err)
		}
	}
	skeleton := skeletonOf(seen)
	for _, list := range [][]string{Own, r.Reserved} {
		for _, name := range list {
			switch {
			case strings.EqualFold(name, seen) || strings.EqualFold(name, ascii):
				return &ReservedError{ascii, "is reserved"}
			case skeletonOf(strings.ToLower(name)) == skeleton:
				return &ReservedError{ascii, fmt.Sprintf("looks like %s, which is reserved", name)}
			}
		}
	}
	plain := strings.ReplaceAll(skeleton, "-", "")
	for _, text := range r.Blocked {
		if blocked := strings.ReplaceAll(skeletonOf(strings.ToLower(text)), "-", ""); blocked != "" && strings.Contains(plain, blocked) {
			return &ReservedError{ascii, "contains a text that the pool blocks"}
		}
	}
	return nil
}

// Skeleton is what a valid name looks like: two names with one skeleton are confusable.
func Skeleton(ascii string) string {
	seen, err := idna.Registration.ToUnicode(ascii)
	if err != nil {
		seen = ascii
	}
	return skeletonOf(seen)
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return false
		}
	}
	return true
}
