// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// safe is an http backend for states, protected by a password.
type safe struct {
	url string

	mu      sync.Mutex
	content []byte
	refused int
}

func (w *world) safe(password string) *safe {
	s := &safe{}
	s.url = w.outside.serve("/safes/"+w.namespace, func(rw http.ResponseWriter, req *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if _, got, _ := req.BasicAuth(); got != password {
			s.refused++
			http.Error(rw, "who are you?", http.StatusUnauthorized)
			return
		}
		switch req.Method {
		case http.MethodGet:
			if s.content == nil {
				http.NotFound(rw, req)
				return
			}
			rw.Write(s.content) //nolint:errcheck // the tool reports a failed read
		case http.MethodPost:
			s.content, _ = io.ReadAll(req.Body) //nolint:errcheck // a state that was cut is not found later
		}
	})
	return s
}

func (s *safe) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.content)
}

var backends = []behaviour{
	// Upstream: an emulated S3 backend, with settings from the object and credentials from Secrets.
	// Here it is the http backend: a Secret and a ConfigMap complete its settings, and the last one
	// takes precedence.
	{"000111_backend_configs_from", func(w *world) {
		s := w.safe("sesame")
		w.git(first, greeter)
		w.create(secretOf("credentials", map[string]string{"username": "me", "password": "sesame", "unrelated": "x"}),
			configMapOf("place", map[string]string{"address": s.url}))
		w.stack("hello", `
approvePlan: auto
backendConfig: {customConfiguration: 'backend "http" {}'}
backendConfigsFrom:
- {kind: ConfigMap, name: place}
- {kind: Secret, name: credentials, keys: [username, password]}
- {kind: Secret, name: missing, optional: true}`)
		o := w.await("hello", "it is applied", applied(firstPlan))
		mentions(w, "the state in the safe", s.text(), "terraform_data", "Hello, World!")
		same(w, "available outputs", []string{"greeting", "id"}, o.Status.AvailableOutputs)
		if w.exists(&corev1.Secret{}, "tfstate-default-hello") {
			w.Error("a state is in the API, too")
		}
	}},
	// Upstream: a missing Secret stops the stack.
	{"000111_backend_configs_missing", func(w *world) {
		s := w.safe("sesame")
		w.git(first, greeter)
		w.stack("hello", `
approvePlan: auto
backendConfig: {customConfiguration: 'backend "http" { address = "%s" }'}
backendConfigsFrom: [{kind: Secret, name: credentials}]`, s.url)
		o := w.await("hello", "it misses the Secret", func(o *infrav1.Terraform) bool {
			return settled(o) && strings.Contains(told(o, "Ready"), "credentials")
		})
		if !strings.HasPrefix(told(o, "Ready"), "False") {
			w.Errorf("Ready is %s", told(o, "Ready"))
		}
		w.create(secretOf("credentials", map[string]string{"username": "me", "password": "sesame"}))
		w.await("hello", "it is applied", applied(firstPlan))
	}},
	// Upstream: the object contains a backend as HCL. A wrong password makes init or a later step
	// fail.
	{"000112_custom_backend", func(w *world) {
		s := w.safe("sesame")
		w.git(first, greeter)
		w.stack("hello", `
approvePlan: auto
retryInterval: 1h
backendConfig:
  customConfiguration: |
    backend "http" {
      address  = "%s"
      username = "me"
      password = "wrong"
    }`, s.url)
		w.await("hello", "it fails", func(o *infrav1.Terraform) bool {
			return settled(o) && strings.HasPrefix(told(o, "Ready"), "False TFExec")
		})
		same(w, "state", "", s.text())
		w.edit("hello", `
backendConfig:
  customConfiguration: |
    backend "http" {
      address  = "%s"
      username = "me"
      password = "sesame"
    }`, s.url)
		w.await("hello", "it is applied", applied(firstPlan))
		mentions(w, "the state in the safe", s.text(), "terraform_data")
	}},
	// Upstream: with the backend disabled, the program's own backend is used, and plans are not
	// saved. Here the program names one.
	{"000112_backend_disabled", func(w *world) {
		s := w.safe("sesame")
		w.git(first, greeter.and(program{"backend.tf": fmt.Sprintf(`
			terraform {
			  backend "http" {
			    address  = %q
			    username = "me"
			    password = "sesame"
			  }
			}`, s.url)}))
		w.stack("hello", "backendConfig: {disable: true}")
		w.await("hello", "its plan waits", pending(firstPlan))
		w.edit("hello", "approvePlan: %s", firstPlan)
		w.await("hello", "it is applied", applied(firstPlan))
		mentions(w, "the state in the safe", s.text(), "terraform_data", "Hello, World!")
		if w.exists(&corev1.Secret{}, "tfstate-default-hello") {
			w.Error("a state is in the API, too")
		}
	}},
	// Upstream (never run): the tool's configuration file comes from a Secret. Here it contains the
	// address and token of a module registry, and the program uses a module from it.
	{"000220_cli_config", func(w *world) {
		registry := w.registry("modules.invalid", "sesame", program{"main.tf": `output "answer" { value = "from the registry" }`})
		w.git(first, program{"main.tf": `
			module "answer" {
			  source  = "modules.invalid/team/answer/any"
			  version = "1.0.0"
			}
			output "answer" { value = module.answer.answer }`})
		w.create(secretOf("tool", map[string]string{"credentials.tfrc": registry.config}))
		w.stack("hello", "{approvePlan: auto, cliConfigSecretRef: {name: tool, namespace: %s}, writeOutputsToSecret: {name: out}}", w.namespace)
		w.await("hello", "it is applied", applied(firstPlan))
		w.awaitSecret("out", map[string]string{"answer": "from the registry"})
	}},
	// Upstream: exactly one key of that Secret ends in .tfrc.
	{"000220_cli_config_without_tfrc", func(w *world) {
		w.git(first, hello)
		w.create(secretOf("tool", map[string]string{"config": ""}))
		w.stack("hello", "{approvePlan: auto, cliConfigSecretRef: {name: tool, namespace: %s}}", w.namespace)
		w.await("hello", "it says what is wrong", func(o *infrav1.Terraform) bool {
			return settled(o) && strings.HasPrefix(told(o, "Ready"), "False") && strings.Contains(told(o, "Ready"), ".tfrc")
		})
	}},
	// Upstream: a Secret in another namespace is refused.
	{"000015_cliconfigsecret_cross_ns_denied", func(w *world) {
		w.git(first, hello)
		w.stack("hello", "{approvePlan: auto, cliConfigSecretRef: {name: tool, namespace: other-ns}}")
		s := w.await("hello", "it may not read the Secret", failed("AccessDenied"))
		same(w, "Ready", "False AccessDenied: cannot access secret other-ns/tool, cross-namespace references have been disabled", told(s, "Ready"))
	}},
}

// registry is a module registry with one module.
type registry struct {
	// config is the tool's configuration for it.
	config string

	mu        sync.Mutex
	questions int
}

// asked counts the requests.
func (r *registry) asked() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.questions
}

// registry serves a module as team/answer/any, to clients with the token.
func (w *world) registry(host, token string, module program) *registry {
	url, _ := w.outside.archive(module.pack(w.T))
	base := "/registries/" + w.namespace
	r := &registry{config: fmt.Sprintf("credentials %q { token = %q }\nhost %q { services = { \"modules.v1\" = \"%s%s/\" } }\n",
		host, token, host, w.outside.url, base)}
	answer := func(path string, say http.HandlerFunc) {
		w.outside.serve(base+path, func(rw http.ResponseWriter, req *http.Request) {
			r.mu.Lock()
			r.questions++
			r.mu.Unlock()
			if req.Header.Get("Authorization") != "Bearer "+token {
				http.Error(rw, "who are you?", http.StatusUnauthorized)
				return
			}
			say(rw, req)
		})
	}
	answer("/team/answer/any/versions", func(rw http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(rw, `{"modules":[{"versions":[{"version":"1.0.0"}]}]}`)
	})
	answer("/team/answer/any/1.0.0/download", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("X-Terraform-Get", url)
		rw.WriteHeader(http.StatusNoContent)
	})
	return r
}
