// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
)

// Step is a phase of a region, or a component in a region, and its stack.
type Step struct {
	ID, Region string
	Phase      yubav1.PlatformPhaseName
	Component  string
	// Stack is the name of the stack.
	Stack string
	// Needs are the ids of the steps that must be ready first.
	Needs []string
	// Lacks says what must be known before the stack can be written; empty if nothing is missing.
	Lacks string
	Spec  infrav1.TerraformSpec
}

// Given is what no stack can read by itself.
type Given struct {
	// Machines are the machines of regions, once they exist.
	Machines map[string]Machines
	// CallHome is where new nodes put their kubeconfig; nil if the server takes none.
	CallHome *CallHome
	// Kubeconfigs are the regions whose kubeconfig has arrived already, perhaps at another home that the platform has left.
	Kubeconfigs map[string]bool
}

// Machines is the output of the phase machines, as far as other steps need it.
type Machines struct {
	APIEndpoint string   `json:"api_endpoint"`
	Addresses   []string `json:"addresses"`
}

// CallHome is where new nodes put their kubeconfig.
type CallHome struct {
	// URL returns the URL for the kubeconfig of a region, which is kept in a Secret.
	URL func(namespace, secret string) string
	// CA is the certificate authority of the URL, in PEM.
	CA string
}

// order has the phases of a region in their order.
var order = []yubav1.PlatformPhaseName{yubav1.PhasePreflight, yubav1.PhaseNetwork, yubav1.PhaseMachines, yubav1.PhaseKubernetes, yubav1.PhaseDNS, yubav1.PhaseGitOps}

// Steps returns the steps of a blueprint without problems; see [Check].
func Steps(p *yubav1.Platform, given Given) (steps []Step) {
	for i := range p.Spec.Regions {
		r := region{platform: p, spec: &p.Spec.Regions[i], given: given}
		steps = append(steps, r.steps()...)
	}
	return steps
}

// region is a region whose steps are made.
type region struct {
	platform *yubav1.Platform
	spec     *yubav1.PlatformRegion
	given    Given
}

func (r *region) steps() (steps []Step) {
	before := ""
	for _, phase := range order {
		if !hasPhase(&r.platform.Spec, phase) {
			continue
		}
		s := Step{ID: r.spec.Name + "/" + string(phase), Region: r.spec.Name, Phase: phase, Stack: r.stack(string(phase))}
		if before != "" {
			s.Needs = []string{before}
		}
		r.fill(&s)
		steps, before = append(steps, s), s.ID
	}
	for _, c := range inOrder(componentsOf(&r.platform.Spec, r.spec.Name)) {
		s := Step{ID: r.spec.Name + "/" + c.Name, Region: r.spec.Name, Phase: yubav1.PhaseComponents, Component: c.Name, Stack: r.stack(c.Name)}
		if before != "" {
			s.Needs = []string{before}
		}
		for _, name := range c.DependsOn {
			s.Needs = append(s.Needs, r.spec.Name+"/"+name)
		}
		r.fillComponent(&s, &c)
		steps = append(steps, s)
	}
	return steps
}

// hasPhase reports whether regions of a blueprint have a phase.
func hasPhase(spec *yubav1.PlatformSpec, phase yubav1.PlatformPhaseName) bool {
	changed := phaseOf(spec, phase)
	switch {
	case changed.Disabled:
		return false
	case phase == yubav1.PhasePreflight:
		return changed.Module != nil || spec.Library != nil && spec.Library.Preflight
	case phase == yubav1.PhaseDNS:
		return spec.Domain.Mode == yubav1.DomainAPI
	}
	return changed.Module != nil || spec.Library != nil
}

// phaseOf returns how a blueprint changes a phase.
func phaseOf(spec *yubav1.PlatformSpec, phase yubav1.PlatformPhaseName) yubav1.PlatformPhase {
	for _, p := range spec.Phases {
		if p.Name == phase {
			return p
		}
	}
	return yubav1.PlatformPhase{Name: phase}
}

// componentsOf returns the components of a region.
func componentsOf(spec *yubav1.PlatformSpec, region string) (list []yubav1.PlatformComponent) {
	for _, c := range spec.Components {
		if len(c.Regions) == 0 || slices.Contains(c.Regions, region) {
			list = append(list, c)
		}
	}
	return list
}

// inOrder returns components so that each is after those that it depends on. Components of a cycle, which
// [Check] refuses, are last.
func inOrder(components []yubav1.PlatformComponent) (sorted []yubav1.PlatformComponent) {
	done := map[string]bool{}
	rest := slices.Clone(components)
	for len(rest) > 0 {
		next := slices.IndexFunc(rest, func(c yubav1.PlatformComponent) bool {
			return !slices.ContainsFunc(c.DependsOn, func(name string) bool { return !done[name] })
		})
		if next < 0 {
			return append(sorted, rest...)
		}
		done[rest[next].Name] = true
		sorted, rest = append(sorted, rest[next]), slices.Delete(rest, next, next+1)
	}
	return sorted
}

// stack is the name of a step's stack.
func (r *region) stack(step string) string {
	return r.platform.Name + "-" + r.spec.Name + "-" + step
}

// secret is the name of a Secret of the region.
func (r *region) secret(what string) string { return SecretName(r.platform.Name, r.spec.Name, what) }

// SecretName is the name of a Secret of a region: KubeconfigSecret, TokenSecret or the outputs of a step.
func SecretName(platform, region, what string) string { return platform + "-" + region + "-" + what }

// The Secrets of a region.
const (
	// KubeconfigSecret has the kubeconfig of the region's cluster under the key value.
	KubeconfigSecret = "kubeconfig"
	// TokenSecret has the tokens of the region's machines: join_token, and call_home_token while it is of use.
	TokenSecret = "machine-tokens"
)

// OutputsSecret is the name of the Secret with the outputs of a stack.
func OutputsSecret(stack string) string { return stack + "-outputs" }
