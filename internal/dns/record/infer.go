// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"net/netip"
	"slices"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
)

// Infer says what answers tell of the endpoints: the addresses of all families that were asked for. An
// answer shows which addresses are up, but while all are down, PowerDNS answers as if they were up.
func Infer(s Spec, answered []netip.Addr) map[string]yubav1.FailoverState {
	states := map[string]yubav1.FailoverState{}
	in := map[string]bool{}
	for _, e := range s.Endpoints {
		states[e.Name] = yubav1.EndpointUnknown
		in[e.Name] = slices.ContainsFunc(e.Addresses, func(a netip.Addr) bool { return slices.Contains(answered, a) })
	}
	if s.Check == nil || s.Selector != yubav1.SelectAll || s.WhenAllDown != yubav1.SelectAll {
		return states
	}
	switch s.Placement {
	case yubav1.PlacementActiveActive:
		if len(s.Endpoints) == 1 || missing(s.Endpoints, in) == 0 {
			return states // all are up, or all are down
		}
		for _, e := range s.Endpoints {
			states[e.Name] = state(in[e.Name])
		}
	case yubav1.PlacementActivePassive:
		s.inferPriorities(states, in)
	}
	return states
}

// inferPriorities knows that the groups before the answered one are down.
func (s *Spec) inferPriorities(states map[string]yubav1.FailoverState, in map[string]bool) {
	numbers := s.priorityNumbers()
	at := slices.IndexFunc(numbers, func(n int) bool { return missing(s.withPriority(n), in) < len(s.withPriority(n)) })
	if at < 0 {
		return
	}
	group := s.withPriority(numbers[at])
	inGroup, inAll := len(group)-missing(group, in), len(s.Endpoints)-missing(s.Endpoints, in)
	if inAll > inGroup { // addresses of several groups
		for name := range states {
			states[name] = yubav1.EndpointDown
		}
		return
	}
	if at == 0 && (s.Check.URL == "" || len(numbers) == 1) && inGroup == len(group) {
		return // all of them are up, or all endpoints are down
	}
	for _, n := range numbers[:at] {
		for _, e := range s.withPriority(n) {
			states[e.Name] = yubav1.EndpointDown
		}
	}
	for _, e := range group {
		states[e.Name] = state(in[e.Name])
	}
}

func missing(endpoints []Endpoint, in map[string]bool) (n int) {
	for _, e := range endpoints {
		if !in[e.Name] {
			n++
		}
	}
	return n
}

func state(up bool) yubav1.FailoverState {
	if up {
		return yubav1.EndpointUp
	}
	return yubav1.EndpointDown
}
