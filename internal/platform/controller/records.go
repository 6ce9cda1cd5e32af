// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"net/netip"
	"reflect"
	"slices"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
	"github.com/yuba-dev/yuba/internal/platform/decide"
	"github.com/yuba-dev/yuba/internal/platform/plan"
)

// maxRecords limits the records in the status.
const maxRecords = 64

// wantedRecords are the records of all regions whose addresses are known: the domain of the region, and all names below.
func wantedRecords(p *yubav1.Platform, given plan.Given) (records []yubav1.PlatformRecord) {
	if p.Spec.Domain.Mode == yubav1.DomainAPI || p.Spec.Decommission {
		return nil
	}
	for i := range p.Spec.Regions {
		region := p.Spec.Regions[i].Name
		families := map[string][]string{}
		for _, text := range given.Machines[region].Addresses {
			address, err := netip.ParseAddr(text)
			if err != nil || address.Zone() != "" {
				continue // a module's output may be anything
			}
			kind := "AAAA"
			if address = address.Unmap(); address.Is4() {
				kind = "A"
			}
			if !slices.Contains(families[kind], address.String()) {
				families[kind] = append(families[kind], address.String())
			}
		}
		domain := plan.DomainOf(p, region)
		for _, name := range []string{domain, "*." + domain} {
			for _, kind := range []string{"A", "AAAA"} {
				if addresses := families[kind]; len(addresses) > 0 && len(records) < maxRecords {
					slices.Sort(addresses)
					records = append(records, yubav1.PlatformRecord{Name: name, Type: kind, Region: region, Addresses: addresses, State: yubav1.RecordUnknown})
				}
			}
		}
	}
	return records
}

// sameRecords reports whether the same records are wanted.
func sameRecords(a, b []yubav1.PlatformRecord) bool {
	return slices.EqualFunc(a, b, func(x, y yubav1.PlatformRecord) bool {
		return x.Name == y.Name && x.Type == y.Type && reflect.DeepEqual(x.Addresses, y.Addresses)
	})
}

// withManual adds a phase dns to each region of a platform that waits for people: after its cluster, before all that may
// need the names.
func withManual(p *yubav1.Platform, steps []decide.Step, records []yubav1.PlatformRecord) []decide.Step {
	if m := p.Spec.Domain.Manual; m == nil || !m.Wait || p.Spec.Domain.Mode == yubav1.DomainAPI {
		return steps
	}
	var all []decide.Step
	done, last := map[string]bool{}, map[string]string{}
	add := func(region string) {
		step := decide.Step{ID: region + "/" + string(yubav1.PhaseDNS), Region: region, Phase: yubav1.PhaseDNS, Manual: &decide.Manual{Region: region}}
		for _, rec := range records {
			if rec.Region == region {
				step.Manual.Records = append(step.Manual.Records, rec)
			}
		}
		if last[region] != "" {
			step.Needs = []string{last[region]}
		}
		all, done[region] = append(all, step), true
	}
	for _, s := range steps {
		if later := s.Phase == yubav1.PhaseGitOps || s.Phase == yubav1.PhaseComponents; later {
			if !done[s.Region] {
				add(s.Region)
			}
			s.Needs = append(slices.Clone(s.Needs), s.Region+"/"+string(yubav1.PhaseDNS))
		}
		all = append(all, s)
		last[s.Region] = s.ID
	}
	for _, region := range p.Spec.Regions {
		if !done[region.Name] {
			add(region.Name)
		}
	}
	return all
}

// recordPresence writes the records and their condition into the status.
func recordPresence(p *yubav1.Platform, records []yubav1.PlatformRecord) {
	p.Status.Records = records
	status, reason, message := decide.Present(records)
	if reason == "" {
		conditions.Remove(p, yubav1.ConditionRecordsPresent)
		return
	}
	conditions.Set(p, yubav1.ConditionRecordsPresent, status, reason, shorten.Fit(message, 2000))
}
