// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// Several refreshes have a token that is revoked: each of them logs in, whichever is told first.
func TestAllHoldersOfARevokedTokenLogIn(t *testing.T) {
	now, logins := time.Now(), 0
	tokens := &Tokens{now: func() time.Time { return now }}
	get := func(key tokenKey) string {
		t.Helper()
		text, err := tokens.get(t.Context(), key, func(context.Context) (string, time.Duration, error) {
			logins++
			return fmt.Sprint("token ", logins), time.Hour, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	key, other := keyOf("a"), keyOf("b")
	first := get(key)
	if !tokens.refused(key, first, true) {
		t.Error("the first holder does not log in again")
	}
	get(other) // another store's login does not forget it
	if !tokens.refused(key, first, true) {
		t.Error("the second holder does not log in again before the first one did")
	}
	second := get(key)
	if second == first || !tokens.refused(key, first, false) || get(key) != second {
		t.Errorf("the third holder of %q does not get the token %q", first, second)
	}
	if tokens.refused(key, second, false) {
		t.Error("a right that is missing makes it log in again")
	}
}
