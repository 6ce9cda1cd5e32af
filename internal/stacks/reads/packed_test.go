// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reads

import "testing"

func TestProgramsWithOtherFilesHaveOtherKeys(t *testing.T) {
	seen := map[programKey]int{}
	for i, files := range []map[string]string{
		nil, {"a": ""}, {"": "a"}, {"a": "b"}, {"ab": ""}, {"a": "", "b": ""}, {"a": "b", "b": "a"}, {"a": "a", "b": "b"}, {"a": "\x00b"},
	} {
		if was, twice := seen[keyOf(files)]; twice {
			t.Errorf("programs %d and %d have the same key", was, i)
		}
		seen[keyOf(files)] = i
	}
}
