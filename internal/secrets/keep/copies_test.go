// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package keep_test

import (
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/secrets/decide"
	"github.com/yuba-dev/yuba/internal/secrets/keep"
)

// copyTest is a copy of a store that has the secret db.
type copyTest struct {
	*testing.T
	*keep.SOPS
	from decide.Document
}

var copyMade = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func madeDB(values map[string]decide.Value) []decide.Made {
	m := decide.Made{Name: "db", Entry: decide.Entry{Made: copyMade}, Values: values}
	for _, part := range []string{"db", "db_public"} {
		if _, ok := values[part]; ok {
			m.Entry.Parts = append(m.Entry.Parts, part)
		}
	}
	return []decide.Made{m}
}

func newCopy(t *testing.T) *copyTest {
	c := &copyTest{T: t, SOPS: newSOPS(t)}
	c.from = decide.Document{}.Add(madeDB(map[string]decide.Value{"db": "old"})).Owned("staging", "of-staging")
	c.mirror(map[string]decide.Value{"db": "old"})
	return c
}

// mirror writes the copy, and checks what it has then.
func (c *copyTest) mirror(want map[string]decide.Value) {
	c.Helper()
	if _, err := keep.Mirror(c.Context(), c.from, c); err != nil {
		c.Fatal(err)
	}
	d, _, err := c.Read(c.Context())
	if err != nil || !maps.Equal(d.Values, want) {
		c.Errorf("the copy has %v, want %v: %v", d.Values, want, err)
	}
}

// foreign adds a value of somebody else, or removes it if it is empty.
func (c *copyTest) foreign(key string, value decide.Value) {
	c.Helper()
	d, tag, err := c.Read(c.Context())
	if err == nil {
		if d.Values[key] = value; value == "" {
			delete(d.Values, key)
		}
		err = c.Write(c.Context(), d, tag)
	}
	if err != nil {
		c.Fatal(err)
	}
}

func TestACopyKeepsTheValuesOfOthers(t *testing.T) {
	c := newCopy(t)
	c.foreign("db_previous", "theirs")
	c.mirror(map[string]decide.Value{"db": "old", "db_previous": "theirs"})
	if differs, err := keep.Differs(t.Context(), c.from, c); err != nil || differs {
		t.Errorf("it differs: %v, %v", differs, err)
	}
	c.foreign("db_previous", "")
	c.from = decide.Introduce(c.from, "one", madeDB(map[string]decide.Value{"db": "new"}), []string{"a/x"}, copyMade)
	c.mirror(map[string]decide.Value{"db": "new", "db_previous": "old"})
	c.from = decide.Retire(decide.Ran(c.from), []string{"a/x"}, copyMade)
	c.mirror(map[string]decide.Value{"db": "new"})
	c.foreign("db_previous", "theirs") // while the copy has one value, too
	c.mirror(map[string]decide.Value{"db": "new", "db_previous": "theirs"})
	c.from = decide.Finish(decide.Ran(c.from))
	c.mirror(map[string]decide.Value{"db": "new", "db_previous": "theirs"})
}

// A rotation that ended while the copy could not be written ends there, too.
func TestACopyThatMissedTheEndOfARotation(t *testing.T) {
	c := newCopy(t)
	c.from = decide.Introduce(c.from, "one", madeDB(map[string]decide.Value{"db": "new", "db_public": "new"}), []string{"a/x"}, copyMade)
	c.mirror(map[string]decide.Value{"db": "new", "db_public": "new", "db_previous": "old"})
	c.from = decide.Fail(c.from, "no", copyMade)
	c.mirror(map[string]decide.Value{"db": "old", "db_previous": "new", "db_public_previous": "new"})
	c.from = decide.Finish(decide.Retire(decide.Ran(c.from), nil, copyMade))
	c.mirror(map[string]decide.Value{"db": "old"})
}

func TestACopyThatCannotHaveARotation(t *testing.T) {
	c := newCopy(t)
	begun := decide.Introduce(c.from, "one", madeDB(map[string]decide.Value{"db": "new", "db_public": "new"}), nil, copyMade)
	for _, key := range []string{"db_previous", "db_public", "db_public_previous"} {
		c.foreign(key, "theirs")
		var foreign *keep.ForeignError
		if err := keep.Admits(t.Context(), begun, c); !errors.As(err, &foreign) || len(foreign.Parts) != 1 || foreign.Parts[0] != key {
			t.Errorf("%s: %v", key, err)
		}
		c.foreign(key, "")
	}
	c.foreign("other_previous", "theirs")
	if err := keep.Admits(t.Context(), begun, c); err != nil {
		t.Error(err)
	}
	begun.Book.ID = "of-prod"
	var strange *keep.StrangeError
	if err := keep.Admits(t.Context(), begun, c); !errors.As(err, &strange) {
		t.Errorf("in a copy of another store: %v", err)
	}
}
