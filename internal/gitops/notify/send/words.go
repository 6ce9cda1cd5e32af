// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package send

import (
	"slices"
	"strings"
	"unicode"

	eventv1 "github.com/fluxcd/pkg/apis/event/v1beta1"

	"github.com/yuba-dev/yuba/internal/kit/brief"
)

// objectName is how messages call the object that an event is about.
func objectName(e eventv1.Event) string {
	return strings.ToLower(e.InvolvedObject.Kind) + "/" + e.InvolvedObject.Name + "." + e.InvolvedObject.Namespace
}

// fact is a line of an event's metadata.
type fact struct{ name, value string }

// facts are the metadata in an order that does not change, the summary first. Services take only so many of them.
func facts(e eventv1.Event, most, longest int) []fact {
	const summary = "summary"
	names := make([]string, 0, len(e.Metadata))
	for name := range e.Metadata {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		switch {
		case a == b:
			return 0
		case a == summary:
			return -1
		case b == summary:
			return 1
		}
		return strings.Compare(a, b)
	})
	if len(names) > most {
		names = names[:most]
	}
	list := make([]fact, 0, len(names))
	for _, name := range names {
		list = append(list, fact{brief.Fit(name, longest), brief.Fit(e.Metadata[name], longest)})
	}
	return list
}

// words splits a reason such as TFExecPlanFailed into its words, in small letters.
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

// boundary tells whether a word begins at i: where the class of letters changes, but a capital belongs to the small
// letters after it.
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
