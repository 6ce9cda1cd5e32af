// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"net/netip"
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
	"github.com/yuba-dev/yuba/internal/platform/decide"
	"github.com/yuba-dev/yuba/internal/platform/plan"
)

const (
	// askAgain is how soon the resolver is asked again for records that are missing. It keeps a negative answer, too.
	askAgain = 15 * time.Second
	// askSometimes is how often it is asked for records that exist.
	askSometimes = 5 * time.Minute
	// askFor bounds the questions of a pass, as other platforms wait for it.
	askFor = 10 * time.Second
	// maxRecords limits the records in the status.
	maxRecords = 64
	// askers limits the questions at a time.
	askers = 8
)

// asked is what the resolver answered last about a platform.
type asked struct {
	uid      types.UID
	at       time.Time
	resolver string
	records  []yubav1.PlatformRecord
}

// manualRecords are the records that people create for a platform, with what the resolver says about them, and when it
// is to be asked again.
func (r *Reconciler) manualRecords(ctx context.Context, p *yubav1.Platform, given plan.Given) ([]yubav1.PlatformRecord, time.Duration) {
	records := wantedRecords(p, given)
	if len(records) == 0 {
		return records, 0
	}
	if p.Spec.Suspend { // nobody is asked: what was known stays
		for i := range records {
			for j := range p.Status.Records {
				if was := &p.Status.Records[j]; sameRecords(records[i:i+1], p.Status.Records[j:j+1]) {
					records[i].State, records[i].Message = was.State, was.Message
				}
			}
		}
		return records, 0
	}
	resolver := ""
	if m := p.Spec.Domain.Manual; m != nil {
		resolver = m.Resolver
	}
	if known, ok := r.answers.Load(keyOf(p)); ok {
		if last := known.(asked); last.uid == p.UID && last.resolver == resolver && sameRecords(last.records, records) { //nolint:forcetypeassert // nothing else is stored
			if left := last.at.Add(pauseOf(last.records)).Sub(r.Now()); left > 0 {
				return slices.Clone(last.records), left
			}
		}
	}
	r.ask(ctx, resolver, records)
	r.answers.Store(keyOf(p), asked{p.UID, r.Now(), resolver, slices.Clone(records)})
	return records, pauseOf(records)
}

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

// ask asks the resolver for records, a few at a time.
func (r *Reconciler) ask(ctx context.Context, resolver string, records []yubav1.PlatformRecord) {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	turns := make(chan struct{}, askers)
	var all sync.WaitGroup
	for i := range records {
		all.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			rec := &records[i]
			if r.Resolve == nil {
				rec.Message = "this server asks no resolver"
				return
			}
			wrong, err := r.Resolve(ctx, resolver, rec.Name, rec.Type, rec.Addresses)
			switch {
			case err != nil:
				rec.State, rec.Message = yubav1.RecordUnknown, shorten.Fit(shorten.Line(err.Error()), 300)
			case wrong != "":
				rec.State, rec.Message = yubav1.RecordMissing, shorten.Fit(shorten.Line(wrong), 300)
			default:
				rec.State, rec.Message = yubav1.RecordPresent, ""
			}
		})
	}
	all.Wait()
}

// pauseOf is how long answers are good for.
func pauseOf(records []yubav1.PlatformRecord) time.Duration {
	for i := range records {
		if records[i].State != yubav1.RecordPresent {
			return askAgain
		}
	}
	return askSometimes
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
