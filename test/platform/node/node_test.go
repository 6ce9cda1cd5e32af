// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package node_test

import "testing"

// TestAnEnvironment applies an environment of examples/environments to a real node, by name.
func TestAnEnvironment(t *testing.T) {
	newWorld(t).appliesAnEnvironment()
}

// TestTheComponentsOfAPlatform applies the modules gitops, vault and yuba to a real node, and uses what they install.
func TestTheComponentsOfAPlatform(t *testing.T) {
	w := newWorld(t)
	for _, component := range []struct {
		name string
		use  func()
	}{{"gitops", w.followsGit}, {"vault", w.keepsSecrets}, {"vault of three servers", w.keepsSecretsWithoutALeader}, {"yuba", w.takesCalls}} {
		t.Run(component.name, func(t *testing.T) {
			defer w.as(t)()
			component.use()
		})
	}
}
