// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
)

// Problem is something in a blueprint that must change before anything can be made.
type Problem struct {
	// Field is the field, such as spec.components[1].dependsOn.
	Field string `json:"field"`
	// Message is a sentence without its full stop.
	Message string `json:"message"`
}

func (p Problem) String() string { return p.Field + ": " + p.Message }

// maxName limits the names of stacks: they are labels, too.
const maxName = 63

// maxPlatform limits the names of platforms. Modules use PLATFORM-REGION as a prefix of names of machines, which
// maxPrefix limits.
const maxPlatform, maxPrefix = 24, 30

// Check finds the problems of a blueprint that its schema cannot express.
func Check(p *yubav1.Platform) (problems []Problem) {
	c := checker{platform: p}
	c.names()
	c.modules()
	c.components()
	c.airGap()
	return c.problems
}

type checker struct {
	platform *yubav1.Platform
	problems []Problem
}

func (c *checker) say(field, format string, args ...any) {
	c.problems = append(c.problems, Problem{field, fmt.Sprintf(format, args...)})
}

func (c *checker) names() {
	p := c.platform
	if len(p.Name) > maxPlatform || strings.Contains(p.Name, ".") {
		c.say("metadata.name", "%q is the beginning of the names of machines and networks: want at most %d letters, digits and hyphens", p.Name, maxPlatform)
	}
	for i, r := range p.Spec.Regions {
		if prefix := p.Name + "-" + r.Name; len(prefix) > maxPrefix {
			c.say(fmt.Sprintf("spec.regions[%d].name", i), "%s is the beginning of the names of machines, and has %d characters; at most %d are allowed", prefix, len(prefix), maxPrefix)
		}
		longest := string(yubav1.PhaseKubernetes)
		for _, part := range componentsOf(&p.Spec, r.Name) {
			if len(part.Name) > len(longest) {
				longest = part.Name
			}
		}
		if name := SecretName(p.Name, r.Name, longest); len(name) > maxName {
			c.say(fmt.Sprintf("spec.regions[%d].name", i), "the stack %s would have a name of %d characters; at most %d are allowed", name, len(name), maxName)
		}
	}
}

// modules checks that each phase and component has a module.
func (c *checker) modules() {
	p := &c.platform.Spec
	if p.Library == nil {
		any := false
		for _, phase := range order {
			any = any || hasPhase(p, phase)
		}
		if !any && len(p.Components) == 0 {
			c.say("spec.library", "the blueprint has neither a library nor a phase with a module of its own, so there is nothing to make")
		}
		if p.Domain.Mode == yubav1.DomainAPI && phaseOf(p, yubav1.PhaseDNS).Module == nil && !phaseOf(p, yubav1.PhaseDNS).Disabled {
			c.say("spec.domain.mode", "mode API needs a module for the phase dns: name a library, or give the phase a module")
		}
	}
	check := func(field string, m *yubav1.PlatformModule) {
		switch {
		case m == nil:
		case m.Path != "" && m.SourceRef == nil && p.Library == nil:
			c.say(field+".path", "a module with a path needs a sourceRef, or the blueprint a library")
		}
	}
	for i, phase := range p.Phases {
		field := fmt.Sprintf("spec.phases[%d].module", i)
		check(field, phase.Module)
		if phase.Module != nil {
			c.reads(field, phase.Module, phase.Name)
		}
	}
	for i, part := range p.Components {
		field := fmt.Sprintf("spec.components[%d].module", i)
		if part.Module == nil && p.Library == nil {
			c.say(field, "the component %s has no module, and the blueprint has no library", part.Name)
		}
		check(field, part.Module)
		if part.Module != nil {
			c.reads(field, part.Module, yubav1.PhaseComponents)
		}
	}
}

// reads checks that a module reads outputs of earlier phases only.
func (c *checker) reads(field string, m *yubav1.PlatformModule, phase yubav1.PlatformPhaseName) {
	at := slices.Index(order, phase)
	if at < 0 {
		at = len(order)
	}
	for _, output := range m.Reads {
		from, _, _ := strings.Cut(output, "/")
		name := yubav1.PlatformPhaseName(from)
		if slices.Index(order, name) >= at {
			c.say(field+".reads", "%s is an output of the phase %s, which is not before %s", output, from, phase)
		} else if !hasPhase(&c.platform.Spec, name) {
			c.say(field+".reads", "%s is an output of the phase %s, which the blueprint does not have", output, from)
		}
	}
}

func (c *checker) components() {
	p := &c.platform.Spec
	known := map[string]yubav1.PlatformComponent{}
	for _, part := range p.Components {
		known[part.Name] = part
	}
	for i, part := range p.Components {
		field := fmt.Sprintf("spec.components[%d]", i)
		if slices.Contains(order, yubav1.PlatformPhaseName(part.Name)) || isSecret(part.Name) {
			c.say(field+".name", "%s is the name of a phase or of a Secret; choose another one", part.Name)
		}
		for _, region := range part.Regions {
			if !slices.ContainsFunc(p.Regions, func(r yubav1.PlatformRegion) bool { return r.Name == region }) {
				c.say(field+".regions", "the blueprint has no region %s", region)
			}
		}
		for _, name := range part.DependsOn {
			other, there := known[name]
			if !there {
				c.say(field+".dependsOn", "the blueprint has no component %s; remove it here, too", name)
				continue
			}
			for _, r := range p.Regions {
				if isIn(part, r.Name) && !isIn(other, r.Name) {
					c.say(field+".dependsOn", "%s is not in the region %s, where %s needs it", name, r.Name, part.Name)
				}
			}
		}
	}
	if cycle := cycleOf(p.Components); cycle != "" {
		c.say("spec.components", "components depend on each other: %s; remove one of the dependencies", cycle)
	}
}

func isSecret(name string) bool { return name == KubeconfigSecret || name == TokenSecret }

func isIn(part yubav1.PlatformComponent, region string) bool {
	return len(part.Regions) == 0 || slices.Contains(part.Regions, region)
}

// cycleOf returns a cycle of dependencies, as a -> b -> a; empty for none.
func cycleOf(components []yubav1.PlatformComponent) string {
	needs := map[string][]string{}
	for _, part := range components {
		needs[part.Name] = part.DependsOn
	}
	done := map[string]bool{}
	var path []string
	var visit func(name string) string
	visit = func(name string) string {
		if at := slices.Index(path, name); at >= 0 {
			return strings.Join(append(slices.Clone(path[at:]), name), " -> ")
		}
		if done[name] {
			return ""
		}
		path = append(path, name)
		for _, next := range needs[name] {
			if cycle := visit(next); cycle != "" {
				return cycle
			}
		}
		path, done[name] = path[:len(path)-1], true
		return ""
	}
	for _, part := range components {
		if cycle := visit(part.Name); cycle != "" {
			return cycle
		}
	}
	return ""
}

// airGap checks that nothing of the blueprint needs the internet, as far as it shows.
func (c *checker) airGap() {
	p := &c.platform.Spec
	if !p.AirGap {
		return
	}
	remote := func(field string, m *yubav1.PlatformModule) {
		if m != nil && m.Registry != nil && strings.Count(m.Registry.Source, "/") == 2 {
			c.say(field+".registry.source", "%s is in a public registry, and spec.airGap is true: name a host, such as that of Yuba's own registry", m.Registry.Source)
		}
	}
	for i, phase := range p.Phases {
		remote(fmt.Sprintf("spec.phases[%d].module", i), phase.Module)
	}
	for i, part := range p.Components {
		remote(fmt.Sprintf("spec.components[%d].module", i), part.Module)
	}
	c.downloads()
}

// providerHere is the provider whose machines have k3s already.
const providerHere = "local"

// downloads checks that machines of the library's own modules do not download k3s from its release. The modules check it again,
// with all variables.
func (c *checker) downloads() {
	p := &c.platform.Spec
	changed := phaseOf(p, yubav1.PhaseMachines)
	if !hasPhase(p, yubav1.PhaseMachines) || changed.Module != nil || len(changed.VariablesFrom) > 0 {
		return
	}
	for i, r := range p.Regions {
		values := map[string]any{}
		overlay(values, r.Variables)
		overlay(values, changed.Variables)
		if r.Provider == providerHere || hasBinaryURL(values["kubernetes"]) {
			continue
		}
		c.say(fmt.Sprintf("spec.regions[%d]", i), "its machines would download k3s from the Internet, and spec.airGap is true. Set the variable kubernetes of the phase machines: "+
			"{\"binary_url\": \"https://HOST/k3s/VERSION\"}, a server inside with the bundle's directory files/k3s, or {\"binary_url\": \"\"} if the machines' image has k3s")
	}
}

// hasBinaryURL reports whether the variable kubernetes says where k3s comes from.
func hasBinaryURL(value any) bool {
	raw, ok := value.(apiextensionsv1.JSON)
	if !ok {
		return false
	}
	var kubernetes struct {
		BinaryURL *string `json:"binary_url"`
	}
	if json.Unmarshal(raw.Raw, &kubernetes) != nil || kubernetes.BinaryURL == nil {
		return false
	}
	return !strings.HasPrefix(*kubernetes.BinaryURL, "https://github.com/")
}
