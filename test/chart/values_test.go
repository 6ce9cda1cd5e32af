// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestBadValuesAreRefused(t *testing.T) {
	for sentence, c := range map[string]struct{ values, want string }{
		"a typo":                                {"replicas: 2", "additional properties 'replicas' not allowed"},
		"a typo further down":                   {"runner: {serviceAccount: {allowedNamespace: [a]}}", "additional properties 'allowedNamespace' not allowed"},
		"a number as text":                      {"replicaCount: two", "/replicaCount"},
		"concurrency 0":                         {"concurrency: 0", "/concurrency"},
		"a log level that there is not":         {"logLevel: loud", "/logLevel"},
		"a duration without a unit":             {"runner: {idle: '5'}", "/runner/idle"},
		"a bucket of an unknown kind":           {"blob: {url: 'http://bucket'}", "/blob/url"},
		"an invalid namespace":                  {"watchNamespaces: [Team_A]", "/watchNamespaces/0"},
		"a quantity that is none":               {"runner: {resources: {limits: {memory: lots}}}", "/runner/resources/limits/memory"},
		"a rule without verbs":                  {"rbac: {extraRules: [{apiGroups: [''], resources: [services]}]}", "/rbac/extraRules/0"},
		"an argument that is no flag":           {"extraArgs: [verbose]", "/extraArgs/0"},
		"a digest that is none":                 {"image: {digest: latest}", "/image/digest"},
		"several replicas without a bucket":     {"replicaCount: 2", "replicaCount above 1 needs blob.url"},
		"an Ingress for Flux's receivers":       {"ingress: {enabled: true, hosts: [a.example]}", "ingress and httpRoute need web.enabled or sources.enabled"},
		"an Ingress without a host":             {"{sources: {enabled: true}, ingress: {enabled: true}}", "ingress.enabled needs ingress.hosts"},
		"an Ingress to a page without a name":   {"{web: {enabled: true}, ingress: {enabled: true, hosts: [a.example]}}", "needs web.url"},
		"a page with a path":                    {"web: {enabled: true, url: 'https://a.example/yuba'}", "/web/url"},
		"a call home without TLS":               {"callHome: {url: 'http://a.example:7448'}", "/callHome/url"},
		"a port of nodes without nodes":         {"callHome: {url: 'https://a.example', service: {type: ClusterIP, nodePort: 31448}}", "callHome.service.nodePort needs"},
		"a provider without TLS":                {"web: {oidc: {issuer: 'http://a.example', clientID: a}}", "/web/oidc/issuer"},
		"a provider that does not know Yuba":    {"web: {oidc: {issuer: 'https://a.example'}}", "web.oidc.issuer needs web.oidc.clientID"},
		"a route without a gateway":             {"{sources: {enabled: true}, httpRoute: {enabled: true}}", "httpRoute.enabled needs httpRoute.parentRefs"},
		"a ServiceMonitor without metrics":      {"metrics: {serviceMonitor: {enabled: true}}", "metrics.serviceMonitor.enabled needs metrics.enabled"},
		"the image of tofu-controller":          {"image: {repository: ghcr.io/flux-iac/tofu-controller}", "Remove both from your values"},
		"the image of tofu-controller's runner": {"runner: {image: {repository: mirror.example/flux-iac/tf-runner}}", "Remove both from your values"},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, err := render(parse(t, c.values))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one that says %q", err, c.want)
			}
		})
	}
}

// schema is as much of a JSON schema as these tests read.
type schema struct {
	Description string            `json:"description"`
	Properties  map[string]schema `json:"properties"`
}

// The schema accepts exactly the values of values.yaml and those of tofu-controller that have no effect. The template
// lists each of the latter with a reason.
func TestTheSchemaHasTheValues(t *testing.T) {
	var s schema
	if err := json.Unmarshal(read(t, chartDir+"/values.schema.json"), &s); err != nil {
		t.Fatal(err)
	}
	delete(s.Properties, "global")
	reasons := string(read(t, chartDir+"/templates/_unused.tpl"))
	compare(t, "", s, parse(t, string(read(t, chartDir+"/values.yaml"))), reasons)
}

func compare(t *testing.T, path string, s schema, values map[string]any, reasons string) {
	for name, field := range s.Properties {
		value, ok := values[name]
		unused := strings.Contains(field.Description, "no effect")
		switch {
		case unused && !strings.Contains(reasons, `"`+path+name+`"`):
			t.Errorf("%s%s has no effect, and the notes do not say why", path, name)
		case unused == ok:
			t.Errorf("%s%s: in values.yaml %t, without effect %t", path, name, ok, unused)
		case ok && len(field.Properties) > 0:
			inner, _ := value.(map[string]any)
			compare(t, path+name+".", field, inner, reasons)
		}
	}
	for name := range values {
		if _, ok := s.Properties[name]; !ok {
			t.Errorf("%s%s is not in the schema", path, name)
		}
	}
}
