// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Command generate writes the descriptions of the types that the embedded API server serves:
//
//	go run ./internal/home/schemas/generate FILE
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
	generatedopenapi "k8s.io/kubernetes/pkg/generated/openapi"
)

// groups are the origins of the types of served kinds.
var groups = []string{
	"io.k8s.api.admissionregistration.v1.",
	"io.k8s.api.authentication.v1.",
	"io.k8s.api.authorization.v1.",
	"io.k8s.api.coordination.v1.",
	"io.k8s.api.events.v1.",
	"io.k8s.api.rbac.v1.",
	"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.",
	"io.k8s.apimachinery.pkg.apis.meta.",
	"io.k8s.apimachinery.pkg.runtime.",
	"io.k8s.apimachinery.pkg.version.",
	"io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.",
}

// core are the served kinds of the core group, which has many more.
var core = []string{"ConfigMap", "Event", "Namespace", "ResourceQuota", "Secret", "ServiceAccount"}

func main() {
	if err := write(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

func write(args []string) error {
	if len(args) != 1 {
		return errors.New("expected one argument, the file to write")
	}
	text, err := encode(upstream(byName))
	if err != nil {
		return err
	}
	return os.WriteFile(args[0], text, 0o644) //nolint:gosec // anybody may read it
}

// byName returns a reference with a definition's name.
func byName(name string) spec.Ref { return spec.MustCreateRef(name) }

// upstream returns the definitions of Kubernetes for the served kinds and all that they refer to.
func upstream(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
	all := generatedopenapi.GetOpenAPIDefinitions(ref)
	served := map[string]common.OpenAPIDefinition{}
	var add func(name string)
	add = func(name string) {
		definition, known := all[name]
		if _, done := served[name]; done || !known {
			return
		}
		served[name] = definition
		for _, other := range definition.Dependencies {
			add(other)
		}
	}
	for name := range all {
		if slices.ContainsFunc(groups, func(group string) bool { return strings.HasPrefix(name, group) }) {
			add(name)
		}
	}
	for _, kind := range core {
		add("io.k8s.api.core.v1." + kind)
		add("io.k8s.api.core.v1." + kind + "List")
	}
	return served
}

// encode writes one definition a line, so that diffs show single definitions.
func encode(definitions map[string]common.OpenAPIDefinition) ([]byte, error) {
	var text bytes.Buffer
	separator := "{\n"
	for _, name := range slices.Sorted(maps.Keys(definitions)) {
		schema, err := json.Marshal(definitions[name].Schema)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		fmt.Fprintf(&text, "%s%q: %s", separator, name, schema)
		separator = ",\n"
	}
	text.WriteString("\n}\n")
	return text.Bytes(), nil
}
