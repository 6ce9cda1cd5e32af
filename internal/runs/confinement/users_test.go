// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package confinement

import (
	"os"
	"path/filepath"
	"testing"
)

// Servers with data directories of their own give out users of their own.
func TestTwoDataDirectoriesShareNoUsers(t *testing.T) {
	const directories = 2 // they meet by chance in one of 170,000 such tests
	seen := map[int]bool{}
	for range directories {
		users := &Users{File: filepath.Join(t.TempDir(), "users")}
		for range block + 1 { // more than a process takes at a time
			user, err := users.Next()
			if err != nil {
				t.Fatal(err)
			}
			if seen[user] || user < firstUser || user > firstUser+(lastUser-firstUser)/2+2*block {
				t.Fatalf("user %d, given out before: %v", user, seen[user])
			}
			seen[user] = true
		}
	}
}

// A data directory goes on where it was, also when the file that says so is lost.
func TestUsersAreGivenOutOnce(t *testing.T) {
	file, highest := filepath.Join(t.TempDir(), "users"), 0
	begin := func() int {
		users := &Users{File: file, Highest: func() (int, error) { return highest, nil }}
		user, err := users.Next()
		if err != nil {
			t.Fatal(err)
		}
		return user
	}
	highest = begin()
	if next := begin(); next != highest+block {
		t.Errorf("after a block from %d comes %d", highest, next)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if next := begin(); next != highest+1 {
		t.Errorf("without the file, after %d comes %d", highest, next)
	}
}
