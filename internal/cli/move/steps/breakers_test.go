// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
)

func TestOpenBreakers(t *testing.T) {
	spec, status := []string{"spec"}, []string{"status"}
	for sentence, c := range map[string]struct {
		mode  yubav1.CircuitBreakerMode
		state yubav1.CircuitBreakerState
		open  bool
		where []string
	}{
		"one that the server opened":        {"", yubav1.StateOpen, true, status},
		"one that probes":                   {yubav1.ModeAutomatic, yubav1.StateHalfOpen, true, status},
		"one that has closed":               {yubav1.ModeAutomatic, yubav1.StateClosed, false, status},
		"one for maintenance, just created": {yubav1.ModeOpen, "", true, spec},
		"one that a person closed":          {yubav1.ModeClosed, yubav1.StateOpen, false, status},
	} {
		t.Run(sentence, func(t *testing.T) {
			b := &yubav1.CircuitBreaker{Spec: yubav1.CircuitBreakerSpec{Mode: c.mode, Namespaces: spec}, Status: yubav1.CircuitBreakerStatus{State: c.state, Namespaces: status}}
			if isOpen(b) != c.open {
				t.Errorf("open: %v", !c.open)
			}
			if diff := cmp.Diff(c.where, coveredBy(b)); diff != "" {
				t.Errorf("namespaces (-want +got):\n%s", diff)
			}
		})
	}
}
