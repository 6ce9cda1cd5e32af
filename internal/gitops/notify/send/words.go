// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package send

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	eventv1 "github.com/fluxcd/pkg/apis/event/v1beta1"

	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// objectName returns the name of an event's object for messages.
func objectName(e eventv1.Event) string {
	return strings.ToLower(e.InvolvedObject.Kind) + "/" + e.InvolvedObject.Name + "." + e.InvolvedObject.Namespace
}

// fact is an entry of an event's metadata.
type fact struct{ name, value string }

// facts returns the first entries of the metadata, sorted by name after the summary. The page is a
// link of its own.
func (m Message) facts(most, longest int) []fact {
	const summary = "summary"
	e := m.Event
	names := slices.Sorted(maps.Keys(e.Metadata))
	if m.Page != "" {
		names = slices.DeleteFunc(names, func(name string) bool { return e.Metadata[name] == m.Page })
	}
	if at := slices.Index(names, summary); at > 0 {
		names = slices.Insert(slices.Delete(names, at, at+1), 0, summary)
	}
	var list []fact
	for _, name := range names[:min(most, len(names))] {
		list = append(list, fact{shorten.Fit(name, longest), shorten.Fit(e.Metadata[name], longest)})
	}
	return list
}

// words splits a reason such as TFExecPlanFailed into words in lower case.
func words(reason string) string {
	var b strings.Builder
	runes := []rune(reason)
	for i, r := range runes {
		if i > 0 && boundary(runes, i) {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// boundary reports whether a word begins at i: at a new class, except after its capital.
func boundary(runes []rune, i int) bool {
	before, here := class(runes[i-1]), class(runes[i])
	if before == upper && here == lower {
		return false
	}
	if before == upper && here == upper {
		return i+1 < len(runes) && class(runes[i+1]) == lower
	}
	return before != here
}

const (
	other = iota
	lower
	upper
	digit
)

func class(r rune) int {
	switch {
	case unicode.IsLower(r):
		return lower
	case unicode.IsUpper(r):
		return upper
	case unicode.IsDigit(r):
		return digit
	}
	return other
}

func failed(e eventv1.Event) bool { return e.Severity == eventv1.EventSeverityError }
