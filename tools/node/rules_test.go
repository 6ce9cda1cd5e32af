// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"reflect"
	"strings"
	"testing"
)

// Only the node's chains go, and the rules that lead to them.
func TestRemovals(t *testing.T) {
	const table = `-P PREROUTING ACCEPT
-N CNI-3f2a
-N DOCKER
-N KUBE-SERVICES
-N KUBE-SVC-X
-A PREROUTING -m comment --comment "kubernetes \"service\" portals" -j KUBE-SERVICES
-A PREROUTING -m comment --comment "instead of KUBE-SERVICES, see -j CNI-3f2a" -j DOCKER
-A POSTROUTING -s 10.244.0.2/32 -g CNI-3f2a
-A DOCKER -s 10.0.0.0/8 -j RETURN
-A KUBE-SERVICES -d 10.96.0.1/32 -j KUBE-SVC-X
-A CNI-3f2a -d 10.244.0.0/24 -j ACCEPT
`
	var rules [][]string
	for line := range strings.Lines(table) {
		rules = append(rules, words(line))
	}
	want := [][]string{
		{"-D", "PREROUTING", "-m", "comment", "--comment", `kubernetes "service" portals`, "-j", "KUBE-SERVICES"},
		{"-D", "POSTROUTING", "-s", "10.244.0.2/32", "-g", "CNI-3f2a"},
		{"-F", "CNI-3f2a"}, {"-F", "KUBE-SERVICES"}, {"-F", "KUBE-SVC-X"},
		{"-X", "CNI-3f2a"}, {"-X", "KUBE-SERVICES"}, {"-X", "KUBE-SVC-X"},
	}
	if got := removals(rules); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
