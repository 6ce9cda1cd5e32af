// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
)

// acme is a platform with one region, and changes.
func acme(changes ...func(*yubav1.PlatformSpec)) *yubav1.Platform {
	p := &yubav1.Platform{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "acme"}, Spec: yubav1.PlatformSpec{
		Organization: yubav1.PlatformOrganization{Name: "acme"}, Domain: yubav1.PlatformDomain{FQDN: "acme.example.org", Mode: yubav1.DomainManual},
		Library: &yubav1.PlatformLibrary{SourceRef: yubav1.PlatformSourceReference{Kind: "ExternalArtifact", Name: "modules"}, Path: "lib"},
		Regions: []yubav1.PlatformRegion{{Name: "eu-1", Provider: "hetzner", ControlPlanes: 3, Size: "cx32", CredentialsRef: &meta.LocalObjectReference{Name: "hcloud"}}},
	}}
	for _, change := range changes {
		change(&p.Spec)
	}
	return p
}

func components(list ...yubav1.PlatformComponent) func(*yubav1.PlatformSpec) {
	return func(s *yubav1.PlatformSpec) { s.Components = list }
}

func withRegion(name string) func(*yubav1.PlatformSpec) {
	return func(s *yubav1.PlatformSpec) {
		s.Regions = append(s.Regions, yubav1.PlatformRegion{Name: name, Provider: "aws"})
	}
}

func named(name string, p *yubav1.Platform) *yubav1.Platform {
	p.Name = name
	return p
}

func TestStepsAreInTheirOrder(t *testing.T) {
	portal, vault := yubav1.PlatformComponent{Name: "portal", DependsOn: []string{"vault"}}, yubav1.PlatformComponent{Name: "vault"}
	for sentence, c := range map[string]struct {
		platform *yubav1.Platform
		want     []string
	}{
		"one region":                {acme(), []string{"eu-1/network", "eu-1/machines", "eu-1/kubernetes", "eu-1/gitops"}},
		"components by their needs": {acme(components(portal, vault)), []string{"eu-1/network", "eu-1/machines", "eu-1/kubernetes", "eu-1/gitops", "eu-1/vault", "eu-1/portal"}},
		"records by an API": {acme(func(s *yubav1.PlatformSpec) { s.Domain.Mode, s.Domain.Provider = yubav1.DomainAPI, "hetzner" }),
			[]string{"eu-1/network", "eu-1/machines", "eu-1/kubernetes", "eu-1/dns", "eu-1/gitops"}},
		"credentials are tried first": {acme(func(s *yubav1.PlatformSpec) { s.Library.Preflight = true }),
			[]string{"eu-1/preflight", "eu-1/network", "eu-1/machines", "eu-1/kubernetes", "eu-1/gitops"}},
		"a phase that is left out": {acme(func(s *yubav1.PlatformSpec) {
			s.Phases = []yubav1.PlatformPhase{{Name: yubav1.PhaseGitOps, Disabled: true}}
		}, components(vault)),
			[]string{"eu-1/network", "eu-1/machines", "eu-1/kubernetes", "eu-1/vault"}},
		"a component of one region": {acme(withRegion("us-1"), components(yubav1.PlatformComponent{Name: "vault", Regions: []string{"us-1"}})),
			[]string{"eu-1/network", "eu-1/machines", "eu-1/kubernetes", "eu-1/gitops", "us-1/network", "us-1/machines", "us-1/kubernetes", "us-1/gitops", "us-1/vault"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			if problems := Check(c.platform); len(problems) > 0 {
				t.Fatal(problems)
			}
			var got []string
			seen := map[string]bool{}
			for _, s := range Steps(c.platform, Given{}) {
				got = append(got, s.ID)
				for _, need := range s.Needs {
					if !seen[need] {
						t.Errorf("%s is before %s, which it needs", s.ID, need)
					}
				}
				seen[s.ID] = true
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// step returns the step with an id.
func step(t *testing.T, p *yubav1.Platform, given Given, id string) Step {
	t.Helper()
	for _, s := range Steps(p, given) {
		if s.ID == id {
			return s
		}
	}
	t.Fatalf("there is no step %s", id)
	return Step{}
}

// variable is the JSON value of a variable; empty for none.
func variable(s Step, name string) string {
	for _, v := range s.Spec.Vars {
		if v.Name == name && v.Value != nil {
			return string(v.Value.Raw)
		}
	}
	return ""
}

func TestAMachinesStack(t *testing.T) {
	home := &CallHome{URL: func(namespace, secret string) string { return "https://home/" + namespace + "/" + secret }, CA: "pem"}
	s := step(t, acme(), Given{CallHome: home}, "eu-1/machines")
	want := map[string]string{"platform": `"acme-eu-1"`, "region": `"eu-1"`, "control_planes": "3", "workers": "0", "size": `"cx32"`, "worker_size": `"cx32"`,
		"domain": `"acme.example.org"`, "call_home": `{"ca":"pem","url":"https://home/team/acme-eu-1-kubeconfig"}`}
	for name, value := range want {
		if got := variable(s, name); got != value {
			t.Errorf("%s is %s, want %s", name, got, value)
		}
	}
	if s.Stack != "acme-eu-1-machines" || s.Spec.Path != "./lib/hetzner/machines" || s.Spec.SourceRef.Name != "modules" {
		t.Errorf("the stack is %s, %s of %s", s.Stack, s.Spec.Path, s.Spec.SourceRef)
	}
	if d := cmp.Diff([]infrav1.VarsReference{{Kind: "Secret", Name: "acme-eu-1-network-outputs", VarsKeys: []string{"network"}}}, s.Spec.VarsFrom); d != "" {
		t.Error(d)
	}
	if len(s.Spec.EnvFrom) != 1 || s.Spec.EnvFrom[0].SecretRef.Name != "hcloud" || len(s.Spec.DependsOn) != 1 || s.Spec.DependsOn[0].Name != "acme-eu-1-network" {
		t.Errorf("environment %v, dependencies %v", s.Spec.EnvFrom, s.Spec.DependsOn)
	}
	tokens := 0
	for _, v := range s.Spec.Vars {
		if v.ValueFrom != nil && v.ValueFrom.SecretKeyRef.Name == "acme-eu-1-machine-tokens" {
			tokens++
		}
	}
	if tokens != 2 {
		t.Errorf("%d tokens, want join_token and call_home_token from a Secret", tokens)
	}
}

// TestCredentialsAreForTheirProviderOnly: what works in the cluster may come from anywhere, and does not get
// the account's credentials.
func TestCredentialsAreForTheirProviderOnly(t *testing.T) {
	for provider, dns := range map[string]bool{"hetzner": true, "oci": false} {
		p := acme(func(s *yubav1.PlatformSpec) { s.Domain.Mode, s.Domain.Provider = yubav1.DomainAPI, provider })
		for _, s := range Steps(p, Given{}) {
			want := s.Phase == yubav1.PhasePreflight || s.Phase == yubav1.PhaseNetwork || s.Phase == yubav1.PhaseMachines || s.Phase == yubav1.PhaseDNS && dns
			if has := len(s.Spec.EnvFrom) > 0; has != want {
				t.Errorf("with DNS of %s: %s has credentials: %v", provider, s.ID, has)
			}
		}
	}
}

func TestApprovalsAreOfPhases(t *testing.T) {
	p := acme(func(s *yubav1.PlatformSpec) {
		s.Approval = yubav1.ApprovalAuto
		s.Phases = []yubav1.PlatformPhase{{Name: yubav1.PhaseMachines, Approval: yubav1.ApprovalManual}, {Name: yubav1.PhaseNetwork, Approval: yubav1.ApprovalPolicy}}
		s.Library.Preflight = true
	})
	for id, want := range map[string]string{"eu-1/network": "policy", "eu-1/machines": "", "eu-1/kubernetes": "auto", "eu-1/preflight": ""} {
		if got := step(t, p, Given{}, id).Spec.ApprovePlan; got != want {
			t.Errorf("approvePlan of %s is %q, want %q", id, got, want)
		}
	}
	if s := step(t, p, Given{}, "eu-1/preflight"); !s.Spec.PlanOnly {
		t.Error("the phase preflight can make something")
	}
}

func TestRecordsWaitForAddresses(t *testing.T) {
	p := acme(func(s *yubav1.PlatformSpec) { s.Domain.Mode, s.Domain.Provider = yubav1.DomainAPI, "aws" }, withRegion("us-1"))
	if s := step(t, p, Given{}, "eu-1/dns"); s.Lacks == "" || s.Spec.Path != "./lib/aws/dns" {
		t.Errorf("lacks %q, path %s", s.Lacks, s.Spec.Path)
	}
	given := Given{Machines: map[string]Machines{"eu-1": {Addresses: []string{"192.0.2.1"}}, "us-1": {Addresses: []string{"192.0.2.2"}}}}
	if s := step(t, p, given, "eu-1/dns"); s.Lacks != "" || variable(s, "addresses") != `["192.0.2.1"]` || variable(s, "domain") != `"acme.example.org"` {
		t.Errorf("lacks %q, %s of %s", s.Lacks, variable(s, "addresses"), variable(s, "domain"))
	}
	if s := step(t, p, given, "us-1/dns"); variable(s, "domain") != `"us-1.acme.example.org"` {
		t.Errorf("the second region has the name %s", variable(s, "domain"))
	}
}

// A module of a registry is called by a program in JSON, whatever the blueprint's texts are.
func TestAModuleOfARegistry(t *testing.T) {
	p := acme(components(yubav1.PlatformComponent{Name: "portal", Variables: map[string]apiextensionsv1.JSON{"replicas": {Raw: []byte("3")}, "other": {Raw: []byte("1")}},
		Module: &yubav1.PlatformModule{Registry: &yubav1.PlatformRegistryModule{Source: "acme/portal/kubernetes", Version: `1.0" }`, Inputs: []string{"domain", "replicas"}, Outputs: []string{"url"}}}}))
	s := step(t, p, Given{}, "eu-1/portal")
	var program map[string]map[string]map[string]any
	if err := json.Unmarshal([]byte(s.Spec.Inline["main.tf.json"]), &program); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]any{"source": "acme/portal/kubernetes", "version": `1.0" }`, "domain": "${var.domain}", "replicas": "${var.replicas}"}, program["module"]["this"]); d != "" {
		t.Error(d)
	}
	if variable(s, "replicas") != "3" || variable(s, "other") != "" || variable(s, "domain") == "" {
		t.Errorf("variables %v", s.Spec.Vars)
	}
}

// An inline module gets the variables that it declares, and no others.
func TestAnInlineModuleGetsWhatItDeclares(t *testing.T) {
	p := acme(func(s *yubav1.PlatformSpec) {
		s.Phases = []yubav1.PlatformPhase{{Name: yubav1.PhaseMachines, Module: &yubav1.PlatformModule{Inline: map[string]string{"main.tf": "variable \"network\" {}\n  variable workers {\n}\n# variable \"size\" {}"}}}}
	})
	s := step(t, p, Given{}, "eu-1/machines")
	var names []string
	for _, v := range s.Spec.Vars {
		names = append(names, v.Name)
	}
	if !slices.Equal(names, []string{"workers"}) || len(s.Spec.VarsFrom) != 1 {
		t.Errorf("variables %v, from %v", names, s.Spec.VarsFrom)
	}
}

func kubernetesOf(text string) func(*yubav1.PlatformSpec) {
	return func(s *yubav1.PlatformSpec) {
		s.Phases = append(s.Phases, yubav1.PlatformPhase{Name: yubav1.PhaseMachines, Variables: map[string]apiextensionsv1.JSON{"kubernetes": {Raw: []byte(text)}}})
	}
}

// Behind an air gap, machines have k3s, or get it from a server inside; their module is told, and checks what it renders.
func TestMachinesBehindAnAirGap(t *testing.T) {
	airGap := func(s *yubav1.PlatformSpec) { s.AirGap = true }
	for name, p := range map[string]*yubav1.Platform{
		"a mirror inside":          acme(airGap, kubernetesOf(`{"binary_url": "https://mirror.corp.example/k3s/v1"}`)),
		"an image with k3s":        acme(airGap, kubernetesOf(`{"binary_url": ""}`)),
		"machines of this machine": acme(airGap, func(s *yubav1.PlatformSpec) { s.Regions[0].Provider = "local" }),
		"a module of one's own": acme(airGap, func(s *yubav1.PlatformSpec) {
			s.Phases = []yubav1.PlatformPhase{{Name: yubav1.PhaseMachines, Module: &yubav1.PlatformModule{Path: "own"}}}
		}),
	} {
		if problems := Check(p); len(problems) > 0 {
			t.Errorf("%s: %v", name, problems)
		}
		told := slices.ContainsFunc(step(t, p, Given{}, "eu-1/machines").Spec.Vars, func(v infrav1.Variable) bool { return v.Name == "air_gap" && string(v.Value.Raw) == "true" })
		if !told {
			t.Errorf("%s: the module is not told", name)
		}
	}
	for _, v := range step(t, acme(), Given{}, "eu-1/machines").Spec.Vars {
		if v.Name == "air_gap" {
			t.Error("modules without the variable would get it")
		}
	}
}

func TestProblems(t *testing.T) {
	for sentence, c := range map[string]struct {
		platform *yubav1.Platform
		want     string
	}{
		"a component that is gone":      {acme(components(yubav1.PlatformComponent{Name: "portal", DependsOn: []string{"vault"}})), "no component vault; remove it here, too"},
		"a cycle":                       {acme(components(yubav1.PlatformComponent{Name: "a", DependsOn: []string{"b"}}, yubav1.PlatformComponent{Name: "b", DependsOn: []string{"a"}})), "a -> b -> a"},
		"a region that is not there":    {acme(components(yubav1.PlatformComponent{Name: "a", Regions: []string{"mars"}})), "no region mars"},
		"a need in another region":      {acme(withRegion("us-1"), components(yubav1.PlatformComponent{Name: "a", Regions: []string{"us-1"}}, yubav1.PlatformComponent{Name: "b", DependsOn: []string{"a"}})), "a is not in the region eu-1"},
		"a component named as a phase":  {acme(components(yubav1.PlatformComponent{Name: "network"})), "network is the name of a phase"},
		"a component named as a Secret": {acme(components(yubav1.PlatformComponent{Name: "kubeconfig"})), "kubeconfig is the name of a phase or of a Secret"},
		"names that are too long":       {named("a-platform-of-acme", acme(withRegion("a-region-in-the-east"))), "at most 30 are allowed"},
		"no modules at all":             {acme(func(s *yubav1.PlatformSpec) { s.Library = nil }), "neither a library nor a phase with a module"},
		"a path without a source": {acme(func(s *yubav1.PlatformSpec) {
			s.Library, s.Phases = nil, []yubav1.PlatformPhase{{Name: yubav1.PhaseNetwork, Module: &yubav1.PlatformModule{Path: "a"}}}
		}), "needs a sourceRef"},
		"outputs of a later phase": {acme(func(s *yubav1.PlatformSpec) {
			s.Phases = []yubav1.PlatformPhase{{Name: yubav1.PhaseNetwork, Module: &yubav1.PlatformModule{Path: "a", Reads: []string{"machines/machines"}}}}
		}), "not before network"},
		"the internet behind an air gap":                            {acme(func(s *yubav1.PlatformSpec) { s.AirGap = true }, components(yubav1.PlatformComponent{Name: "a", Module: &yubav1.PlatformModule{Registry: &yubav1.PlatformRegistryModule{Source: "a/b/c", Version: "1"}}})), "public registry"},
		"machines that download behind an air gap":                  {acme(func(s *yubav1.PlatformSpec) { s.AirGap = true }), "its machines would download k3s from the Internet"},
		"machines that download from its release behind an air gap": {acme(func(s *yubav1.PlatformSpec) { s.AirGap = true }, kubernetesOf(`{"binary_url": "https://github.com/k3s-io/k3s/releases/download/v1"}`)), "its machines would download k3s"},
	} {
		t.Run(sentence, func(t *testing.T) {
			problems := Check(c.platform)
			if !slices.ContainsFunc(problems, func(p Problem) bool { return strings.Contains(p.Message, c.want) && p.Field != "" }) {
				t.Errorf("problems %v, want %q", problems, c.want)
			}
		})
	}
}
