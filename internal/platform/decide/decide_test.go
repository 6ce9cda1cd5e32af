// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
)

var noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// steps are a chain of phases in a region.
func steps(names ...string) (list []Step) {
	for i, name := range names {
		s := Step{ID: "eu/" + name, Region: "eu", Stack: "acme-eu-" + name, Phase: yubav1.PlatformPhaseName(name)}
		if i > 0 {
			s.Needs = []string{"eu/" + names[i-1]}
		}
		list = append(list, s)
	}
	return list
}

func sight(name string, changes ...func(*Sight)) Sight {
	s := Sight{Stack: "acme-eu-" + name, Region: "eu", Phase: yubav1.PlatformPhaseName(name), Ours: true, Seen: true, Ready: "True", Run: "run-" + name}
	for _, change := range changes {
		change(&s)
	}
	return s
}

func says(ready, message string) func(*Sight) {
	return func(s *Sight) { s.Ready, s.Message = ready, message }
}

// byHand is a chain whose phase dns is done by people.
func byHand(states ...yubav1.PlatformRecordState) []Step {
	list, m := steps("machines", "dns", "gitops"), &Manual{Region: "eu"}
	for _, state := range states {
		m.Records = append(m.Records, yubav1.PlatformRecord{Name: "acme.example.org", Type: "A", Addresses: []string{"192.0.2.1"}, State: state, Message: "is missing"})
	}
	list[1].Stack, list[1].Manual = "", m
	return list
}

func waits(s *Sight)   { s.Ready, s.Waits, s.Message = "False", true, "waits" }
func pending(s *Sight) { s.Ready, s.Pending, s.Changes = "Unknown", "plan-1", "+1 ~0 -0" }

func away(s *Sight) { s.Away, s.Suspended, s.Ready = "Handed over to somebody", true, "False" }

// gone is the last status about a stack that was handed over, whose object was deleted then.
var gone = Decide(Facts{Steps: steps("network"), Sights: []Sight{sight("network", away)}}).Phases

func TestDecide(t *testing.T) {
	chain := steps("network", "machines")
	all := []string{"acme-eu-network", "acme-eu-machines"}
	for sentence, c := range map[string]struct {
		facts         Facts
		write, remove []string
		reason, says  string
		states        string
	}{
		"a new platform writes all its stacks": {Facts{Steps: chain}, all, nil, yubav1.ReasonPlatformProgressing, "0/2 ready", "Waiting Waiting"},
		"one phase after the other": {Facts{Steps: chain, Sights: []Sight{sight("network"), sight("machines", waits)}},
			all, nil, yubav1.ReasonPlatformProgressing, "1/2 ready. eu/machines waits", "Ready Waiting"},
		"a run in progress": {Facts{Steps: chain, Sights: []Sight{sight("network", says("Unknown", ""), func(s *Sight) { s.Operation = "plan-and-apply" }), sight("machines", waits)}},
			all, nil, yubav1.ReasonPlatformProgressing, "eu/network: applying", "Applying Waiting"},
		"a plan waits for a person": {Facts{Steps: chain, Sights: []Sight{sight("network", pending)}},
			all, nil, yubav1.ReasonPlatformApproval, "yuba approve acme-eu-network", "AwaitingApproval Waiting"},
		"a failure comes before an approval": {Facts{Steps: chain, Sights: []Sight{sight("network", pending), sight("machines", says("False", "quota exhausted"))}},
			all, nil, yubav1.ReasonPlatformPhaseFailed, "eu/machines failed: quota exhausted", "AwaitingApproval Failed"},
		"all is ready": {Facts{Steps: chain, Sights: []Sight{sight("network"), sight("machines")}}, all, nil, yubav1.ReasonPlatformReady, "All 2 phases are ready", "Ready Ready"},
		"a status of an older generation says nothing": {Facts{Steps: chain, Sights: []Sight{sight("network"), sight("machines", func(s *Sight) { s.Seen = false })}},
			all, nil, yubav1.ReasonPlatformProgressing, "not processed yet", "Ready Waiting"},
		"a problem stops everything":    {Facts{Steps: nil, Problems: []string{"spec.x: y"}, Sights: []Sight{sight("network")}}, nil, nil, yubav1.ReasonPlatformInvalid, "spec.x: y", ""},
		"another platform has the name": {Facts{Steps: chain, Holder: "The platform other has the same DNS name: it has begun"}, nil, nil, yubav1.ReasonPlatformDomainTaken, "The platform other has the same DNS name", "Waiting Waiting"},
		"a stack of somebody else":      {Facts{Steps: chain, Sights: []Sight{{Stack: "acme-eu-network"}}}, nil, nil, yubav1.ReasonPlatformNameTaken, "acme-eu-network exists", "Waiting Waiting"},
		"credentials are missing":       {Facts{Steps: chain, Missing: []string{"hcloud"}}, nil, nil, yubav1.ReasonPlatformCredentials, "The Secret hcloud does not exist", "Waiting Waiting"},
		"a component is removed": {Facts{Steps: chain, Sights: []Sight{sight("network"), sight("machines"), sight("vault")}},
			all, []string{"acme-eu-vault"}, yubav1.ReasonPlatformRemoving, "Removing eu/vault", "Ready Ready"},
		"the last are removed first": {Facts{Decommission: true, Steps: chain, Sights: []Sight{sight("network"), sight("machines")}},
			nil, []string{"acme-eu-machines", "acme-eu-network"}, yubav1.ReasonPlatformRemoving, "Removing eu/network, eu/machines", ""},
		"what cannot be removed is said": {Facts{Decommission: true, Sights: []Sight{sight("network", says("False", "in use"), func(s *Sight) { s.Deleting, s.Failures = true, 2 })}},
			nil, nil, yubav1.ReasonPlatformPhaseFailed, "The removal of the stack acme-eu-network failed: in use", ""},
		"nothing is left":                      {Facts{Decommission: true, Steps: chain}, nil, nil, yubav1.ReasonPlatformDecommissioned, "Nothing of the platform is left", ""},
		"a suspended platform removes nothing": {Facts{Suspend: true, Steps: chain, Sights: []Sight{sight("network"), sight("vault")}}, []string{"acme-eu-network"}, nil, yubav1.ReasonPlatformSuspended, "spec.suspend", "Ready Waiting"},
		"a stack that is being deleted is not written": {Facts{Steps: chain, Sights: []Sight{sight("network", func(s *Sight) { s.Deleting = true })}},
			[]string{"acme-eu-machines"}, nil, yubav1.ReasonPlatformRemoving, "Removing eu/network", "Removing Waiting"},
		"a preflight that makes something has failed": {Facts{Steps: steps("preflight"), Sights: []Sight{sight("preflight", pending)}},
			[]string{"acme-eu-preflight"}, nil, yubav1.ReasonPlatformPhaseFailed, "wants to make something", "Failed"},
		"a stack that was handed over is left alone": {Facts{Steps: chain, Sights: []Sight{sight("network", away), sight("machines")}},
			[]string{"acme-eu-machines"}, nil, yubav1.ReasonPlatformAway, "leaves eu/network alone: Handed over", "Away Ready"},
		"and is not made again without its object": {Facts{Steps: chain, Before: gone, Sights: []Sight{sight("machines")}},
			[]string{"acme-eu-machines"}, nil, yubav1.ReasonPlatformAway, "Handed over", "Away Ready"},
		"nor is it forgotten while the blueprint has a problem": {Facts{Problems: []string{"x"}, Before: gone}, nil, nil, yubav1.ReasonPlatformInvalid, "x", "Away"},
		"nor removed, and its owner is said": {Facts{Decommission: true, Steps: chain, Sights: []Sight{sight("network", away)}},
			nil, nil, yubav1.ReasonPlatformDecommissioned, "others have these stacks and their resources, which were not removed: acme-eu-network", "Away"},
		"nor when it is gone": {Facts{Decommission: true, Steps: chain, Before: gone}, nil, nil, yubav1.ReasonPlatformDecommissioned, "acme-eu-network", "Away"},
		"nor removed with its component": {Facts{Steps: chain, Sights: []Sight{sight("network"), sight("machines"), sight("vault", away)}},
			all, nil, yubav1.ReasonPlatformReady, "All 2", "Ready Ready"},
		"a stack that came back is the platform's": {Facts{Steps: chain, Before: gone, Sights: []Sight{sight("network"), sight("machines")}},
			all, nil, yubav1.ReasonPlatformReady, "All 2", "Ready Ready"},
		"a platform that moved is left alone, whatever is wrong with it": {Facts{Held: "Moved to prod", Problems: []string{"x"}, Steps: chain, Sights: []Sight{sight("network", away), sight("machines", away), sight("vault")}},
			nil, nil, yubav1.ReasonPlatformMoved, "Moved to prod", "Away Away"},
		"what is not known yet": {Facts{Steps: []Step{{ID: "eu/dns", Stack: "acme-eu-dns", Lacks: "the addresses of the machines"}}}, nil, nil, yubav1.ReasonPlatformProgressing, "waits for the addresses", "Waiting"},
		"people create the records: those who need them wait": {Facts{Steps: byHand(yubav1.RecordMissing), Sights: []Sight{sight("machines")}},
			[]string{"acme-eu-machines"}, nil, yubav1.ReasonPlatformProgressing, "eu/dns waits for DNS records that people create, 1 of 1: acme.example.org A 192.0.2.1 (is missing)", "Ready Waiting Waiting"},
		"records that cannot be checked are said": {Facts{Steps: byHand(yubav1.RecordUnknown), Sights: []Sight{sight("machines")}},
			[]string{"acme-eu-machines"}, nil, yubav1.ReasonPlatformProgressing, "cannot check them: is missing. Set spec.domain.manual.resolver", "Ready Waiting Waiting"},
		"records that exist": {Facts{Steps: byHand(yubav1.RecordPresent), Sights: []Sight{sight("machines")}},
			[]string{"acme-eu-machines", "acme-eu-gitops"}, nil, yubav1.ReasonPlatformProgressing, "2/3 ready", "Ready Ready Waiting"},
		"records that went do not stop what is made": {Facts{Steps: byHand(yubav1.RecordMissing), Sights: []Sight{sight("machines"), sight("gitops")}},
			[]string{"acme-eu-machines", "acme-eu-gitops"}, nil, yubav1.ReasonPlatformProgressing, "eu/dns waits for", "Ready Waiting Ready"},
		"records before the machines have addresses": {Facts{Steps: byHand()}, []string{"acme-eu-machines"}, nil, yubav1.ReasonPlatformProgressing, "0/3 ready", "Waiting Waiting Waiting"},
	} {
		t.Run(sentence, func(t *testing.T) {
			c.facts.Now = noon
			d := Decide(c.facts)
			if diff := cmp.Diff([][]string{c.write, c.remove}, [][]string{d.Write, d.Remove}); diff != "" {
				t.Error(diff)
			}
			if d.Reason != c.reason || !strings.Contains(d.Message, c.says) || d.Ready != (c.reason == yubav1.ReasonPlatformReady) {
				t.Errorf("ready %v, %s: %s", d.Ready, d.Reason, d.Message)
			}
			var states []string
			for _, p := range d.Phases {
				states = append(states, string(p.State))
			}
			if got := strings.Join(states, " "); got != c.states {
				t.Errorf("phases are %s, want %s", got, c.states)
			}
		})
	}
}

func TestTimesStay(t *testing.T) {
	first := Decide(Facts{Now: noon, Steps: steps("network"), Sights: []Sight{sight("network", pending)}})
	ready := Decide(Facts{Now: noon.Add(time.Minute), Steps: steps("network"), Sights: []Sight{sight("network")}, Before: first.Phases})
	later := Decide(Facts{Now: noon.Add(time.Hour), Steps: steps("network"), Sights: []Sight{sight("network", pending)}, Before: ready.Phases})
	at, end := metav1.NewTime(noon), metav1.NewTime(noon.Add(time.Minute))
	if p := later.Phases[0]; !p.StartedAt.Equal(&at) || !p.ReadyAt.Equal(&end) {
		t.Errorf("from %s to %s", p.StartedAt, p.ReadyAt)
	}
}

// Laws, on random facts.
func TestLaws(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test
	names := []string{"network", "machines", "kubernetes", "vault", "portal"}
	coin := func() bool { return random.IntN(2) == 0 }
	for range 20_000 {
		f := Facts{Now: noon, Suspend: random.IntN(5) == 0, Decommission: random.IntN(5) == 0, Steps: steps(names[:random.IntN(len(names)+1)]...)}
		if random.IntN(8) == 0 {
			f.Problems = []string{"a problem"}
		}
		if random.IntN(8) == 0 {
			f.Missing = []string{"secret"}
		}
		for _, name := range names {
			if coin() {
				f.Sights = append(f.Sights, Sight{Stack: "acme-eu-" + name, Region: "eu", Phase: yubav1.PlatformPhaseName(name), Ours: random.IntN(8) > 0, Deleting: random.IntN(4) == 0,
					Suspended: random.IntN(6) == 0, Seen: coin(), Ready: []string{"True", "False", "Unknown", ""}[random.IntN(4)], Waits: coin()})
			}
		}
		d := Decide(f)
		if law := broken(f, d); law != "" {
			t.Fatalf("%s\nfacts %+v\ndecision %+v", law, f, d)
		}
	}
}

// broken says which law a decision breaks.
func broken(f Facts, d Decision) string {
	wanted, ours := map[string]bool{}, map[string]Sight{}
	for _, s := range f.Steps {
		wanted[s.Stack] = !f.Decommission
	}
	for _, s := range f.Sights {
		if s.Ours {
			ours[s.Stack] = s
		}
	}
	for _, name := range d.Remove {
		if _, is := ours[name]; !is || wanted[name] {
			return fmt.Sprintf("%s is removed: ours %v, wanted %v", name, is, wanted[name])
		}
		if f.Suspend {
			return "a suspended platform removes " + name
		}
	}
	for _, s := range f.Sights {
		if !s.Ours && slices.Contains(d.Write, s.Stack) {
			return "a stack of somebody else is written: " + s.Stack
		}
	}
	if len(f.Problems) > 0 && !f.Decommission && len(d.Write)+len(d.Remove) > 0 {
		return "a blueprint with a problem is made"
	}
	if d.Ready {
		for _, s := range f.Steps {
			if sight := ours[s.Stack]; sight.Ready != "True" || !sight.Seen || sight.Deleting {
				return "ready without " + s.Stack
			}
		}
		if len(d.Remaining) > 0 || f.Decommission || f.Suspend {
			return "ready, and something is to do"
		}
	}
	return ""
}
