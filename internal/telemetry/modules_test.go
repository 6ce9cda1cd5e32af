// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"fmt"
	"testing"
)

// However many versions there are, the number of series is limited, and no stack is lost.
func TestMetricsOfModulesAreLimited(t *testing.T) {
	var uses []ModuleUse
	for i := range 2000 {
		uses = append(uses, ModuleUse{Module: fmt.Sprint("acme/m", i%100, "/aws"), Version: fmt.Sprintf("1.%d.0", i), Stacks: 1 + i%3, Notice: []string{"", "revoked"}[i%2]})
	}
	series, stacks, revoked, want := 0, 0.0, 0.0, 0.0
	collectModules(func(f *family, value float64, labels ...string) {
		switch {
		case f == &moduleStacks:
			series++
			stacks += value
		case labels[0] == "revoked":
			revoked = value
		}
	}, uses)
	for _, u := range uses {
		want += float64(u.Stacks)
	}
	if series != maxModuleVersions+1 || stacks != want || revoked == 0 || revoked >= want {
		t.Errorf("%d series of %v stacks, want %v; %v revoked", series, stacks, want, revoked)
	}
}
