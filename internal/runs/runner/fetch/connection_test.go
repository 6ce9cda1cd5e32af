// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/registry/providers"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

func TestWhichProvidersComeFromTheServer(t *testing.T) {
	own := &Registry{Host: "registry.example.com:7445", Mirror: &run.Mirror{Deny: []string{"*/denied/*"}}}
	for source, want := range map[string]string{
		"registry.example.com:7445/acme/thing":  "/v1/providers/",
		"registry.example.com/acme/thing":       "/v1/upstream/registry.example.com/", // another host
		"registry.opentofu.org/hashicorp/aws":   "/v1/upstream/registry.opentofu.org/",
		"registry.opentofu.org/denied/provider": "",
	} {
		a, err := providers.ParseAddress(source, "registry.opentofu.org")
		if err != nil {
			t.Fatal(err)
		}
		if _, services := own.forProvider(a); services[providersProtocol] != want {
			t.Errorf("%s: %q, want %q", source, services[providersProtocol], want)
		}
		private := &Registry{Host: own.Host} // of a stack with settings of its own
		if _, services := private.forProvider(a); len(services) > 0 && a.Host != own.Host {
			t.Errorf("%s: %v without the mirror", source, services)
		}
		var none *Registry
		if _, services := none.forProvider(a); services != nil {
			t.Errorf("%s: %v without a registry", source, services)
		}
	}
}

func TestTheHostInCLIConfigurations(t *testing.T) {
	const host = "registry.example.com:7445"
	r := &Registry{Host: host, Open: func(context.Context, string, string, http.Header) (*http.Response, error) {
		return nil, errors.New("nobody asks")
	}}
	for sentence, c := range map[string]struct {
		own  string
		want string // in the result; empty if the stack's own is kept
	}{
		"none":                    {"", "host \"" + host + "\""},
		"credentials":             {"credentials \"a.example.com\" {\n  token = \"t\"\n}\n", "token = \"t\""},
		"its own host":            {"host \"" + host + "\" {\n  services = {}\n}\n", ""},
		"another host":            {"host \"a.example.com\" {\n  services = {}\n}\n", "host \"" + host + "\""},
		"no configuration at all": {"host {{{", ""},
		"JSON":                    {"{\"disable_checkpoint\": true}", "\"" + host + "\":{\"services\":{\"modules.v1\":\"http://127.0.0.1:"},
		"JSON with hosts":         {"{\"host\": {\"a.example.com\": {}}}", ""},
	} {
		c2, err := r.Connect(host, Services{modulesProtocol: "/v1/modules/"}, []byte(c.own))
		if err != nil {
			t.Fatal(err)
		}
		got, err := c2.Config([]byte(c.own))
		c2.Close()
		if err != nil {
			t.Errorf("%s: %v", sentence, err)
		}
		if c.want == "" && string(got) != c.own || !strings.Contains(string(got), c.want) {
			t.Errorf("%s:\n%s", sentence, got)
		}
	}
}
