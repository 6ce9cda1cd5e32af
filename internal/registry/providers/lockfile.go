// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// LockFile is a dependency lock file, .terraform.lock.hcl.
type LockFile struct {
	Locks []Lock
}

// Lock is the entry of one provider in a lock file.
type Lock struct {
	Address
	Version     string
	Constraints string
	// Hashes are the sorted hashes of allowed packages: "h1:" of contents, "zh:" of archives.
	Hashes []string
}

// Limits of a lock file. A large program has some dozen providers with some dozen hashes each.
const (
	maxLockFile  = 1 << 20
	maxLockDepth = 16
)

// LockFileError means that a lock file does not have the format that tools write. During a run, the
// tool explains it better.
type LockFileError struct {
	// Line and Column are 1 or more; 0 if the whole file is meant.
	Line, Column int
	Reason       string
}

func (e *LockFileError) Error() string {
	text := "read the dependency lock file: "
	if e.Line > 0 {
		text = fmt.Sprintf("read the dependency lock file, line %d, column %d: ", e.Line, e.Column)
	}
	return text + e.Reason + ". Tools write it; restore it from version control, or write it anew with \"tofu init\""
}

func lockError(at hcl.Range, format string, args ...any) error {
	return &LockFileError{at.Start.Line, at.Start.Column, fmt.Sprintf(format, args...)}
}

var plainHash = regexp.MustCompile(`^[a-z0-9]{1,8}:[A-Za-z0-9+/=]{16,128}$`)

// plainLine matches every valid line of a lock file. Other text must not reach the parser, which
// recurses for each level.
var plainLine = regexp.MustCompile(`^(#.*|//.*|provider "[^"\\$%]*" \{|(version|constraints)\s*=\s*"[^"\\$%]*"|hashes\s*=\s*\[(\s*"[^"\\$%]*"\s*,?)*\s*\]?|("[^"\\$%]*"\s*,?\s*)+\]?|\]|\}|)$`)

// ParseLockFile parses a lock file. An error says that it is not plain, and is better left to the
// tool.
func ParseLockFile(text []byte) (f LockFile, err error) {
	if len(text) > maxLockFile {
		return f, &LockFileError{Reason: fmt.Sprintf("it has more than %d KiB", maxLockFile>>10)}
	}
	if nested(text) > maxLockDepth {
		return f, &LockFileError{Reason: fmt.Sprintf("brackets are nested more than %d deep", maxLockDepth)}
	}
	number := 0
	for line := range bytes.Lines(text) {
		number++
		if plain := bytes.TrimSpace(line); !plainLine.Match(plain) {
			return f, &LockFileError{number, bytes.Index(line, plain) + 1, fmt.Sprintf("expected an entry of a provider, not %q", shorten.Cut(string(plain), 80))}
		}
	}
	parsed, diags := hclsyntax.ParseConfig(text, ".terraform.lock.hcl", hcl.InitialPos)
	for _, d := range diags {
		if d.Severity == hcl.DiagError && d.Subject != nil {
			return f, lockError(*d.Subject, "%s: %s", d.Summary, strings.TrimSuffix(d.Detail, "."))
		}
	}
	body, ok := parsed.Body.(*hclsyntax.Body)
	if !ok || diags.HasErrors() {
		return f, &LockFileError{Reason: "it is not valid HCL"}
	}
	for name, attribute := range body.Attributes {
		return f, lockError(attribute.SrcRange, "%q is not in an entry of a provider", name)
	}
	for _, block := range body.Blocks {
		if block.Type != "provider" || len(block.Labels) != 1 {
			return f, lockError(block.Range(), "expected provider \"HOST/NAMESPACE/NAME\"")
		}
		lock, err := readLock(block)
		if err != nil {
			return LockFile{}, err
		}
		if f.Find(lock.Address) != nil {
			return LockFile{}, lockError(block.Range(), "%s has a second entry", lock.Address)
		}
		f.Locks = append(f.Locks, lock)
	}
	return f, nil
}

// nested returns the nesting depth of brackets of any kind, also in strings and comments.
func nested(text []byte) int {
	depth, most := 0, 0
	for _, c := range text {
		switch c {
		case '{', '[', '(':
			depth++
			most = max(most, depth)
		case '}', ']', ')':
			depth--
		}
	}
	return most
}

func readLock(block *hclsyntax.Block) (Lock, error) {
	address, err := ParseAddress(block.Labels[0], "")
	if err != nil {
		return Lock{}, lockError(block.LabelRanges[0], "%q is not the source of a provider: expected HOST/NAMESPACE/NAME", shorten.Cut(block.Labels[0], 80))
	}
	for _, inner := range block.Body.Blocks {
		return Lock{}, lockError(inner.Range(), "an entry has no blocks")
	}
	lock := Lock{Address: address}
	for name, attribute := range block.Body.Attributes {
		switch name {
		case "version":
			lock.Version, err = literal(attribute.Expr)
		case "constraints":
			lock.Constraints, err = literal(attribute.Expr)
		case "hashes":
			lock.Hashes, err = literals(attribute.Expr)
		default:
			err = lockError(attribute.SrcRange, "%q is not a part of an entry", name)
		}
		if err != nil {
			return Lock{}, err
		}
	}
	if version := block.Body.Attributes["version"]; version == nil {
		return Lock{}, lockError(block.Range(), "the entry has no version")
	} else if !plainVersion.MatchString(lock.Version) {
		return Lock{}, lockError(version.Expr.Range(), "%q is not a version", shorten.Cut(lock.Version, 80))
	}
	for _, h := range lock.Hashes {
		if !plainHash.MatchString(h) {
			return Lock{}, lockError(block.Body.Attributes["hashes"].Expr.Range(), "%q is not a hash", shorten.Cut(h, 80))
		}
	}
	return lock, nil
}

// literal returns a string without expressions in it.
func literal(expr hclsyntax.Expression) (string, error) {
	template, ok := expr.(*hclsyntax.TemplateExpr)
	if !ok || !template.IsStringLiteral() {
		return "", lockError(expr.Range(), "expected a string")
	}
	value, diags := template.Value(nil)
	if diags.HasErrors() || value.IsNull() || value.Type() != cty.String {
		return "", lockError(expr.Range(), "expected a string")
	}
	return value.AsString(), nil
}

func literals(expr hclsyntax.Expression) ([]string, error) {
	tuple, ok := expr.(*hclsyntax.TupleConsExpr)
	if !ok {
		return nil, lockError(expr.Range(), "expected a list of hashes")
	}
	var all []string
	for _, item := range tuple.Exprs {
		text, err := literal(item)
		if err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// Find returns the entry of a provider; nil if there is none.
func (f *LockFile) Find(a Address) *Lock {
	for i := range f.Locks {
		if f.Locks[i].Address == a {
			return &f.Locks[i]
		}
	}
	return nil
}

// Complete adds the package to the file, and reports whether that changed it. Like the tool, it
// keeps hashes of the same version and drops those of another.
func (f *LockFile) Complete(p *Package) bool {
	lock := f.Find(p.Address)
	if lock == nil {
		f.Locks = append(f.Locks, Lock{Address: p.Address})
		lock = &f.Locks[len(f.Locks)-1]
	}
	if lock.Version != p.Version {
		lock.Version, lock.Hashes = p.Version, nil
	}
	before := len(lock.Hashes)
	lock.Hashes = append(slices.Clone(lock.Hashes), p.Hashes...)
	slices.Sort(lock.Hashes)
	lock.Hashes = slices.Compact(lock.Hashes)
	return len(lock.Hashes) != before
}

// Bytes formats the file as tools do.
func (f *LockFile) Bytes() []byte {
	locks := slices.Clone(f.Locks)
	slices.SortFunc(locks, func(a, b Lock) int { return cmp.Compare(a.Address.String(), b.Address.String()) })
	var out strings.Builder
	out.WriteString("# This file is maintained automatically by \"tofu init\".\n# Manual edits may be lost in future updates.\n")
	for _, lock := range locks {
		file := hclwrite.NewEmptyFile()
		body := file.Body().AppendNewBlock("provider", []string{lock.Address.String()}).Body()
		body.SetAttributeValue("version", cty.StringVal(lock.Version))
		if lock.Constraints != "" {
			body.SetAttributeValue("constraints", cty.StringVal(lock.Constraints))
		}
		if len(lock.Hashes) > 0 {
			body.SetAttributeRaw("hashes", hashTokens(lock.Hashes))
		}
		out.WriteString("\n")
		out.Write(hclwrite.Format(file.Bytes()))
	}
	return []byte(out.String())
}

// hashTokens formats hashes, one a line.
func hashTokens(hashes []string) hclwrite.Tokens {
	tokens := hclwrite.Tokens{{Type: hclsyntax.TokenOBrack, Bytes: []byte("[")}, {Type: hclsyntax.TokenNewline, Bytes: []byte("\n")}}
	for _, h := range hashes {
		tokens = append(tokens, hclwrite.TokensForValue(cty.StringVal(h))...)
		tokens = append(tokens, &hclwrite.Token{Type: hclsyntax.TokenComma, Bytes: []byte(",")}, &hclwrite.Token{Type: hclsyntax.TokenNewline, Bytes: []byte("\n")})
	}
	return append(tokens, &hclwrite.Token{Type: hclsyntax.TokenCBrack, Bytes: []byte("]")})
}

// Verdict is the result of comparing a package with a lock file.
type Verdict int

// The verdicts.
const (
	// Fits: the lock file allows the package, or has no entry.
	Fits Verdict = iota
	// Doubtful: it lists archives of the same release, but it is unknown whether this platform's is
	// among them.
	Doubtful
	// Refused: it allows other packages only.
	Refused
)

// Compare reports whether a package of this version may be used with these locked hashes. The tool
// accepts it for the hash of its content or of its archive. It is not recorded which of the
// release's archives is the one of this package, so only a lock file that lists all of them is sure
// to include it.
func (p *Package) Compare(hashes []string) Verdict {
	if len(hashes) == 0 || slices.Contains(hashes, p.H1) {
		return Fits
	}
	archives, named := 0, 0
	for _, h := range p.Hashes {
		if !strings.HasPrefix(h, "zh:") {
			continue
		}
		archives++
		if slices.Contains(hashes, h) {
			named++
		}
	}
	switch {
	case archives > 0 && named == archives:
		return Fits
	case named > 0 || archives == 0 && slices.ContainsFunc(hashes, func(h string) bool { return strings.HasPrefix(h, "zh:") }):
		return Doubtful
	}
	return Refused
}

// MismatchError means that a lock file does not allow the package.
type MismatchError struct {
	Package  *Package
	Expected []string
}

func (e *MismatchError) Error() string {
	expected := e.Expected
	more := ""
	if len(expected) > 4 {
		expected, more = expected[:4], fmt.Sprintf(" and %d more", len(e.Expected)-4)
	}
	return fmt.Sprintf("install %s %s: the dependency lock file does not allow the package that was downloaded and verified. "+
		"It has %s%s; the package for %s is %s. If the lock file is right, the published package has been changed, and nobody should use it. "+
		"If it was made for other platforms, or manually, add this platform and commit the file:\n    tofu providers lock -platform=%s %s",
		e.Package.Address.Short(), e.Package.Version, strings.Join(expected, ", "), more, platform(), e.Package.H1, platform(), e.Package.Address)
}
