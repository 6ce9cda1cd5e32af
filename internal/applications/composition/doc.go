// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package composition makes the objects of an instance whose definition has several: stacks,
// HelmReleases, Secrets, ConfigMaps and instances of other kinds.
//
// Terms:
//
//   - A resource is one object of the definition, with an id.
//   - A text is a string of a template. It may contain expressions (CEL) in ${ }; $${ stands for ${
//     itself. A text that is one expression becomes its value, of any type; an optional without value
//     removes the field.
//   - Expressions read spec and metadata (name and namespace) of the instance, and resources: by id the name, status
//     and outputs of other resources, and outputsSecret, the Secret with a stack's outputs.
//   - A resource needs those that its expressions read, those whose objects its manifest refers to
//     (package objects/graph), and those in dependsOn.
//
// Invariants:
//
//   - Users of a kind choose no kind, name, namespace, program or service account: expressions are
//     allowed only in places for data (see places.go). A name contains the instance's name once.
//   - They do not choose which Secret or ConfigMap is read either (see sources.go).
//   - Expressions read no Secrets and no sensitive outputs.
//   - Needs have no cycles, and every resource and schema field that an expression reads exists. This
//     is checked when the definition is written.
//   - A resource is rendered when all resources that it needs are ready; the same facts give the same
//     object.
//   - Expressions are limited as in package kit/expression.
//   - A resource that needs an excluded one is excluded, too.
//
// The package does not know the API. It neither writes objects nor decides when.
package composition
