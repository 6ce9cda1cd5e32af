// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRunsShareTheMachine(t *testing.T) {
	const gib = 1 << 30
	for sentence, test := range map[string]struct {
		working, capacity, cores int
		memory                   uint64
		want                     map[string]string
	}{
		"alone":                          {1, 8, 8, 64 * gib, map[string]string{"GOMAXPROCS": "8", "GOGC": "400", "GOMEMLIMIT": "4294967296"}},
		"with another":                   {2, 8, 8, 64 * gib, map[string]string{"GOMAXPROCS": "4", "GOGC": "400", "GOMEMLIMIT": "4294967296"}},
		"with more than there are cores": {16, 16, 8, 64 * gib, map[string]string{"GOMAXPROCS": "1", "GOGC": "400", "GOMEMLIMIT": "2147483648"}},
		"some memory":                    {2, 2, 2, 4 * gib, map[string]string{"GOMAXPROCS": "1", "GOGC": "200", "GOMEMLIMIT": "1073741824"}},
		"little memory":                  {2, 2, 2, 3 * gib, map[string]string{"GOMAXPROCS": "1"}},
		"memory that is not known":       {1, 2, 2, 0, map[string]string{"GOMAXPROCS": "2"}},
		"a person's terminal":            {0, 0, 4, 8 * gib, map[string]string{"GOMAXPROCS": "4", "GOGC": "400", "GOMEMLIMIT": "4294967296"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(test.want, economy(test.working, test.capacity, test.cores, test.memory)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if machineMemory() == 0 {
		t.Error("this machine's memory is not known")
	}
}

func TestAStacksOwnEnvironmentOverridesTheEconomy(t *testing.T) {
	own := []string{"GOGC=50", "GOMAXPROCS=3", "GOMEMLIMIT=1GiB", "PATH=/bin"}
	if diff := cmp.Diff(own, Economic(slices.Clone(own), 0, 2)); diff != "" {
		t.Error(diff)
	}
}
