// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package shape

// Level is what a change of a contract's type needs: which number of its version must rise.
type Level int

// The levels.
const (
	Same Level = iota
	// Minor: the type grew, and neither readers nor writers of the old one notice.
	Minor
	// Major: some readers or writers of the old type break.
	Major
)

func (l Level) String() string { return [...]string{"patch", "minor", "major"}[l] }

// Change is how a contract's type changed.
type Change struct {
	Level Level
	// Readers are what breaks consumers of the old type when they get values of the new one.
	Readers []Difference
	// Writers are what breaks producers of the old type: their values no longer fit.
	Writers []Difference
}

// Compare compares two revisions of a contract's type. To add an optional attribute is minor; to
// remove, retype or require one is major, as is a default that is taken away.
func Compare(before, after Type) Change {
	c := Change{Readers: (&comparison{promised: true}).compare(after, before), Writers: FitsWritten(before, after)}
	switch {
	case len(c.Readers)+len(c.Writers) > 0:
		c.Level = Major
	case !before.Equal(after):
		c.Level = Minor
	}
	return c
}
