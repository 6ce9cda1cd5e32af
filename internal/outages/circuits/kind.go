// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package circuits

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"
)

// Failure is a tool's report of why a run failed, masked.
type Failure struct {
	Summary, Detail string
	// Address is the resource instance or provider in the diagnostic.
	Address string
}

// Kind is the common part of similar failures.
type Kind struct {
	// Provider is the failing provider, such as hashicorp/aws; if unknown, Host is the unreachable
	// host.
	Provider, Host string
	// Cause is one of the words below; Summary the tool's text without names if there is no cause.
	Cause, Summary string
}

// Recognized causes.
const (
	// CauseUnavailable: no answer, or an internal error.
	CauseUnavailable = "unavailable"
	// CauseThrottled: too many requests.
	CauseThrottled = "throttled"
	// CauseCredentials: the credentials are unknown or expired.
	CauseCredentials = "credentials"
	// CauseDenied: the identity is known but not permitted.
	CauseDenied = "denied"
	// CauseCertificate: its certificate is not valid.
	CauseCertificate = "certificate"
)

// causes are tried in this order: an answer about credentials may have another error's status.
var causes = []struct {
	cause string
	says  *regexp.Regexp
}{
	{CauseCredentials, regexp.MustCompile(`expired ?token|tokens? (has |have |is |are )?(been )?(expired|revoked)|expired (access |refresh )?(token|credential)|` +
		`credentials? (has |have |is |are )?expired|invalid[ _]?(client[ _]?token|credential|grant|token|api[ _]key)|unrecognized ?client|auth ?failure|unauthenticated|` +
		`unauthorized|authentication (has )?failed|no valid credential|` + status(`401`))},
	{CauseThrottled, regexp.MustCompile(`throttl|too ?many ?requests|rate ?limit|rate exceeded|request ?limit ?exceeded|` + status(`429`))},
	{CauseCertificate, regexp.MustCompile(`x509:|certificate (has expired|signed by unknown)|failed to verify certificate`)},
	{CauseUnavailable, regexp.MustCompile(`connection (refused|reset|closed|timed out)|no such host|no route to host|network is unreachable|dial tcp|server misbehaving|` +
		`could not connect|broken pipe|unexpected eof|: eof\b|i/o timeout|deadline exceeded|timeout exceeded|handshake timeout|timed out|` +
		`service ?unavailable|bad gateway|gateway time-?out|internal ?server ?error|internal ?(error|failure)\b|` + status(`5\d\d`))},
	{CauseDenied, regexp.MustCompile(`access ?denied|forbidden|permission ?denied|not authorized|` + status(`403`))},
}

// status matches an HTTP status code if the surrounding words identify it as one.
func status(number string) string {
	return `\b(status|code|http|response|error)( ?code)?[ :=(]{1,3}` + number + `\b`
}

// worldly reports whether a program cannot be the cause.
func worldly(cause string) bool {
	return cause == CauseUnavailable || cause == CauseThrottled || cause == CauseCertificate
}

// Bounds for reading and keeping a failure's texts.
const (
	maxRead    = 4096
	maxSummary = 120
)

// Examine classifies a failure of a stack with these providers.
func Examine(f Failure, stack Stack, providers []string) Kind {
	text := strings.ToLower(cut(f.Summary, maxRead) + "\n" + cut(f.Detail, maxRead))
	k := Kind{Provider: providerOf(f.Address, providers)}
	if k.Provider == "" {
		k.Host = hostIn(text)
	}
	for _, c := range causes {
		if c.says.MatchString(text) {
			k.Cause = c.cause
			return k
		}
	}
	k.Summary = normal(f.Summary, f.Address, stack)
	return k
}

// Key is the same for all failures of one kind.
func (k Kind) Key() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{k.Provider, k.Host, k.Cause, k.Summary}, "\x00")))
	return hex.EncodeToString(sum[:5])
}

// Name is the object's name for failures of this kind.
func (k Kind) Name() string {
	what := k.Provider[strings.LastIndex(k.Provider, "/")+1:]
	words := slug(cmp.Or(what, k.Host, "stacks") + "-" + cmp.Or(k.Cause, "failing"))
	return words + "-" + k.Key()[:6]
}

// String describes the kind as a sentence that begins with the failing provider or host.
func (k Kind) String() string {
	what := "runs"
	switch {
	case k.Provider != "":
		what = "provider " + k.Provider
	case k.Host != "":
		what = "host " + k.Host
	}
	switch k.Cause {
	case CauseUnavailable:
		return what + " is unavailable"
	case CauseThrottled:
		return what + " rejects more requests"
	case CauseCredentials:
		return what + " does not accept the credentials"
	case CauseDenied:
		return what + " denies access"
	case CauseCertificate:
		return what + " presents an untrusted certificate"
	}
	if what == "runs" {
		return "runs fail with: " + k.Summary
	}
	return what + " fails with: " + k.Summary
}

var (
	quotedAddress = regexp.MustCompile(`provider\["([^"]+)"\]`)
	moduleStep    = regexp.MustCompile(`^module\.[^.\[]+(\[[^\]]*\])?\.`)
	lockedOne     = regexp.MustCompile(`(?m)^\s*provider\s+"([^"\n]{1,255})"\s*\{`)
	hostNames     = regexp.MustCompile(`https?://(?:[^/@\s]*@)?([a-z0-9._-]+)|lookup ([a-z0-9._-]+)|could not connect to ([a-z0-9._-]+)|dial tcp ([a-z0-9._-]+):\d`)
)

// maxProviders bounds the considered providers of a stack.
const maxProviders = 100

// ProvidersIn lists the providers that a dependency lock file names, sorted.
func ProvidersIn(lockFile []byte) []string {
	var found []string
	for _, m := range lockedOne.FindAllSubmatch(lockFile, maxProviders) {
		found = append(found, ShortProvider(string(m[1])))
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// ShortProvider drops the registry from a provider address if it is OpenTofu's or Terraform's.
func ShortProvider(address string) string {
	for _, registry := range []string{"registry.opentofu.org/", "registry.terraform.io/"} {
		if short, ok := strings.CutPrefix(address, registry); ok {
			return short
		}
	}
	return address
}

// providerOf is the provider that a diagnostic names, or the stack's provider whose name begins the
// resource's type; empty if unknown.
func providerOf(address string, providers []string) string {
	address = cut(address, maxRead)
	if m := quotedAddress.FindStringSubmatch(address); m != nil {
		return ShortProvider(m[1])
	}
	for {
		rest := moduleStep.ReplaceAllString(address, "")
		if rest == address {
			break
		}
		address = rest
	}
	address = strings.TrimPrefix(address, "data.")
	kind, _, _ := strings.Cut(address, ".")
	name, _, _ := strings.Cut(kind, "_")
	if name == "" {
		return ""
	}
	best := ""
	for _, p := range providers {
		if p[strings.LastIndex(p, "/")+1:] == name && (best == "" || strings.HasPrefix(p, "hashicorp/")) {
			best = p
		}
	}
	return best
}

// hostIn is the first host in a lower-case text.
func hostIn(text string) string {
	for _, m := range hostNames.FindAllStringSubmatch(text, 1) {
		for _, host := range m[1:] {
			if host != "" {
				return cut(host, 253)
			}
		}
	}
	return ""
}

var (
	// particulars differ between stacks: quoted or bracketed text, addresses, paths, ids.
	particulars = regexp.MustCompile(`"[^"]*"|'[^']*'|` + "`[^`]*`" + `|\([^)]*\)|\[[^\]]*\]|[a-z][a-z0-9+.-]*://\S+|arn:\S+|\S*/\S*|\S*@\S*`)
	wordSplit   = regexp.MustCompile(`[^\pL\pN_.-]+`)
)

// normal removes particulars of a stack from a summary: names, numbers, paths and addresses.
func normal(summary, address string, stack Stack) string {
	own := map[string]bool{strings.ToLower(stack.Name): true, strings.ToLower(stack.Namespace): true}
	for _, part := range wordSplit.Split(strings.ToLower(cut(address, maxRead)), -1) {
		own[part] = true
		for _, piece := range strings.Split(part, ".") {
			own[piece] = true
		}
	}
	var words []string
	for _, word := range wordSplit.Split(particulars.ReplaceAllString(strings.ToLower(cut(summary, maxRead)), " "), -1) {
		word = strings.Trim(word, ".-_")
		if word == "" || own[word] || strings.ContainsAny(word, "0123456789") {
			continue
		}
		words = append(words, word)
	}
	return cut(strings.Join(words, " "), maxSummary)
}

// slug turns words into a part of an object name.
func slug(text string) string {
	text = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(text))
	return strings.Trim(cut(text, 60), "-")
}

func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}
