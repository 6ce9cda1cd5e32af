// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/yuba-dev/yuba/internal/kit/yamltext"
	"github.com/yuba-dev/yuba/internal/platform/blueprint"
)

// The forms of answers, as in the schema of the kind.
var (
	label  = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)
	domain = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	mail   = regexp.MustCompile(`^[^@\s]+@[^@\s]+$`)
	// word are names of providers for places and sizes.
	word = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
)

// questions are the steps: organization, domain, topology, provider, credentials, components, approval, review.
var questions = []question{
	{name: "organization", text: "Short name of the organization", check: fits(label, 32, "want lower-case letters, digits and hyphens, such as acme"),
		help: "It is part of labels and names of resources, and cannot be long."},
	{name: "email", text: "Mail address for certificates and notices (\"-\" for none)", optional: true, check: fits(mail, 254, "want an address such as ops@example.org"),
		help: "Providers and certificate authorities send notices there."},
	{name: "fqdn", text: "DNS name of the platform", check: fits(domain, 200, "want a DNS name such as acme.example.org"),
		help: "The platform's identity: the same name again continues or changes the same platform. It cannot change later."},
	{name: "dns", text: "Who keeps its DNS records: Manual or API", byDefault: "Manual", check: oneOf("Manual", "API"),
		help: "Manual: you create the records; Yuba lists and checks them.\nAPI: a module creates them with the API of a DNS provider."},
	{name: "dnsProvider", text: "DNS provider", byDefault: "hetzner", check: fits(label, 32, "want the name of a directory of the library"), skip: unless("dns", "API"),
		help: "The library needs a module PROVIDER/dns."},
	{name: "regions", text: "Regions, separated by commas", byDefault: "eu-1", check: labels(20),
		help: "Each region has its own network, machines and cluster. More regions survive the loss of one, and cost as much again. The first one is the primary region."},
	{name: "provider", text: "Provider of the machines", byDefault: "hetzner", check: fits(label, 32, "want the name of a directory of the library, such as hetzner"),
		help: "The library has modules for hetzner, oci, aws and local (this machine, for trials). You can give regions different providers in the file."},
	{name: "location", text: "Provider's location of the first region (\"-\" for its name)", optional: true, check: fits(word, 64, "want a name such as fsn1"),
		help: "Such as fsn1, eu-frankfurt-1 or eu-central-1."},
	{name: "ha", text: "Machines with the control plane in each region: 1, 3 or 5", byDefault: "1", check: oneOf("1", "3", "5"),
		help: "With 1, the loss of the machine stops the cluster's API. With 3, the cluster survives the loss of one machine and costs three; with 5, of two."},
	{name: "workers", text: "More machines in each region", byDefault: "0", check: number(1000),
		help: "Machines without the control plane. You can add some later."},
	{name: "size", text: "Size of the machines (\"-\" for the module's default)", optional: true, check: fits(word, 64, "want the provider's name of a size, such as cx32"),
		help: "The provider's name, such as cx32. Its price list says what it costs."},
	{name: "credentials", text: "Secret with the provider's credentials (\"-\" for none)", optional: true, fill: func(a map[string]string) string { return a["provider"] },
		check: fits(label, 63, "want the name of an object"),
		help:  "The Secret's keys are environment variables, such as HCLOUD_TOKEN. Its values are never in the blueprint: pass them with --credentials NAME=FILE."},
	{name: "components", text: "Components, separated by commas (\"-\" for none)", optional: true, check: labels(24),
		help: "Each is a directory of the library, such as vault. They are installed in this order of their dependencies, which you can add in the file."},
	{name: "library", text: "Name of the ExternalArtifact with the modules", byDefault: "modules", check: fits(label, 63, "want the name of an object"),
		help: "Store a directory of modules with --modules DIR. A GitRepository or OCIRepository is possible, too: see the documentation."},
	{name: "airGap", text: "Without connections to the internet: yes or no", byDefault: "no", check: oneOf("yes", "no"),
		help: "All modules and sources must be local then."},
	{name: "approval", text: "Approval of plans: Manual, Auto or Policy", byDefault: "Manual", check: oneOf("Manual", "Auto", "Policy"),
		help: "Manual: you see and approve each plan. Auto: plans are applied at once. Policy: your policies decide."},
	{name: "file", text: "Write the blueprint to", byDefault: defaultFile, check: func(string, map[string]string) string { return "" },
		help: "The file is all that you need to keep. \"<\" goes back to change an answer."},
}

func fits(pattern *regexp.Regexp, longest int, wrong string) func(string, map[string]string) string {
	return func(answer string, _ map[string]string) string {
		if !pattern.MatchString(answer) || len(answer) > longest {
			return fmt.Sprintf("%q: %s, with at most %d characters", answer, wrong, longest)
		}
		return ""
	}
}

func oneOf(values ...string) func(string, map[string]string) string {
	return func(answer string, _ map[string]string) string {
		if !slices.Contains(values, answer) {
			return fmt.Sprintf("%q: want %s", answer, strings.Join(values, ", "))
		}
		return ""
	}
}

func number(most int) func(string, map[string]string) string {
	return func(answer string, _ map[string]string) string {
		if n, err := strconv.Atoi(answer); err != nil || n < 0 || n > most {
			return fmt.Sprintf("%q: want a number from 0 to %d", answer, most)
		}
		return ""
	}
}

func labels(longest int) func(string, map[string]string) string {
	return func(answer string, _ map[string]string) string {
		seen := map[string]bool{}
		for _, name := range listed(answer) {
			if !label.MatchString(name) || len(name) > longest {
				return fmt.Sprintf("%q: want lower-case letters, digits and hyphens, with at most %d characters", name, longest)
			}
			if seen[name] {
				return fmt.Sprintf("%q is there twice", name)
			}
			seen[name] = true
		}
		return ""
	}
}

func unless(name, value string) func(map[string]string) bool {
	return func(answers map[string]string) bool { return answers[name] != value }
}

func listed(answer string) (names []string) {
	for name := range strings.SplitSeq(answer, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// manifestOf is the blueprint of answers.
func manifestOf(a map[string]string) string {
	organization := map[string]any{"name": a["organization"]}
	put(organization, "email", a["email"])
	dns := map[string]any{"fqdn": a["fqdn"], "mode": a["dns"]}
	put(dns, "provider", a["dnsProvider"])
	put(dns, "pool", a["pool"])
	spec := map[string]any{
		"organization": organization, "domain": dns, "approval": a["approval"],
		"library": map[string]any{"sourceRef": map[string]any{"kind": "ExternalArtifact", "name": a["library"]}},
	}
	if a["airGap"] == "yes" {
		spec["airGap"] = true
	}
	var regions, components []any
	for at, name := range listed(a["regions"]) {
		r := map[string]any{"name": name, "provider": a["provider"], "controlPlanes": atoi(a["ha"]), "workers": atoi(a["workers"])}
		if at == 0 {
			put(r, "location", a["location"])
		}
		put(r, "size", a["size"])
		if a["credentials"] != "" {
			r["credentialsRef"] = map[string]any{"name": a["credentials"]}
		}
		regions = append(regions, r)
	}
	spec["regions"] = regions
	for _, name := range listed(a["components"]) {
		components = append(components, map[string]any{"name": name})
	}
	if len(components) > 0 {
		spec["components"] = components
	}
	text, err := yamltext.Marshal(map[string]any{"apiVersion": "yuba.dev/v1alpha1", "kind": "Platform",
		"metadata": map[string]any{"name": blueprint.NameOf(a["fqdn"])}, "spec": spec})
	if err != nil {
		return ""
	}
	return string(text)
}

func put(m map[string]any, key, value string) {
	if value != "" {
		m[key] = value
	}
}

func atoi(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}
