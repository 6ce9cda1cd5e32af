// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package impact

import (
	"cmp"
	"slices"
	"strings"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/contracts/paths"
	"github.com/yuba-dev/yuba/internal/contracts/versions"
)

// Kind says how a stack depends on another one.
type Kind string

const (
	// ByContract: the consumer declares it in spec.consumes.
	ByContract Kind = "contract"
	// ByOutputs: the consumer reads the Secret with the producer's outputs.
	ByOutputs Kind = "outputs"
	// ByOrder: the consumer names the producer in spec.dependsOn. It starts nothing.
	ByOrder Kind = "dependsOn"
)

// Edge leads from a producer to a consumer, both NAMESPACE/NAME.
type Edge struct {
	Producer string `json:"producer"`
	Consumer string `json:"consumer"`
	Kind     Kind   `json:"kind"`
	// Through is the contract with its range, or the Secret; empty for dependsOn.
	Through string `json:"through,omitempty"`

	// outputs are the outputs that are read: none, if nothing in range is published.
	outputs []string
	// every is set if all outputs are read.
	every bool
	// reads is the part that is read of each.
	reads paths.Set
}

// Map has the edges between stacks.
type Map struct {
	// Edges are sorted by producer, consumer, kind and what they lead through.
	Edges     []Edge
	known     map[string]bool
	suspended map[string]bool
}

// Stacks are the names of all stacks, sorted; also of those that are only referred to.
func (m *Map) Stacks() []string {
	names := make([]string, 0, len(m.known))
	for name := range m.known {
		names = append(names, name)
	}
	for i := range m.Edges {
		names = append(names, m.Edges[i].Producer)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Has reports whether a stack exists, among those of the map.
func (m *Map) Has(stack string) bool { return m.known[stack] }

// Of finds the edges between stacks.
func Of(stacks []infrav1.Terraform) *Map {
	m := &Map{known: map[string]bool{}, suspended: map[string]bool{}}
	byName := make(map[string]*infrav1.Terraform, len(stacks))
	secrets := map[string]*infrav1.Terraform{}
	for i := range stacks {
		t := &stacks[i]
		byName[nameOf(t)], m.known[nameOf(t)], m.suspended[nameOf(t)] = t, true, t.Spec.Suspend
		if secret := outputsSecret(t); secret != "" {
			secrets[t.Namespace+"/"+secret] = t
		}
	}
	for i := range stacks {
		t := &stacks[i]
		for j := range t.Spec.Consumes {
			m.Edges = append(m.Edges, consumed(t, j, byName[t.ConsumesFrom(t.Spec.Consumes[j])]))
		}
		for _, read := range secretsOf(t) {
			if producer := secrets[t.Namespace+"/"+read.name]; producer != nil && producer != t {
				m.Edges = append(m.Edges, throughSecret(t, producer, read))
			}
		}
		for _, d := range t.Spec.DependsOn {
			producer := cmp.Or(d.Namespace, t.Namespace) + "/" + d.Name
			m.Edges = append(m.Edges, Edge{Producer: producer, Consumer: nameOf(t), Kind: ByOrder})
		}
	}
	slices.SortFunc(m.Edges, func(a, b Edge) int {
		return cmp.Or(strings.Compare(a.Producer, b.Producer), strings.Compare(a.Consumer, b.Consumer),
			strings.Compare(string(a.Kind), string(b.Kind)), strings.Compare(a.Through, b.Through))
	})
	return m
}

func nameOf(t *infrav1.Terraform) string { return t.Namespace + "/" + t.Name }

func outputsSecret(t *infrav1.Terraform) string {
	if w := t.Spec.WriteOutputsToSecret; w != nil {
		return w.Name
	}
	return t.Status.OutputsSecret
}

// consumed is the edge of a consumption. producer is nil if there is no such stack.
func consumed(t *infrav1.Terraform, i int, producer *infrav1.Terraform) Edge {
	c := &t.Spec.Consumes[i]
	e := Edge{Producer: t.ConsumesFrom(*c), Consumer: nameOf(t), Kind: ByContract,
		Through: strings.TrimSpace(c.Contract + " " + c.Version), reads: partOf(t, c)}
	if producer == nil {
		return e
	}
	within, err := versions.ParseRange(c.Version)
	if err != nil {
		return e // the stack cannot run: its range is refused
	}
	var highest versions.Version
	for _, p := range producer.Spec.Publishes {
		version, err := versions.Parse(p.Version)
		if err != nil || p.Contract != c.Contract || !within.Has(version) {
			continue
		}
		if len(e.outputs) == 0 || version.Compare(highest) > 0 {
			e.outputs, highest = []string{p.Value}, version
		}
	}
	return e
}

// partOf is what a stack reads of a contract: as it declares, or as the server read it from the type
// of its variable, or everything while that is not known.
func partOf(t *infrav1.Terraform, c *infrav1.Consumption) paths.Set {
	reads := c.Reads
	if len(reads) == 0 && t.Status.Contracts != nil {
		for i := range t.Status.Contracts.Consumes {
			if seen := &t.Status.Contracts.Consumes[i]; seen.As == c.As && seen.Contract == c.Contract {
				reads = seen.Reads
			}
		}
	}
	var list []paths.Path
	for _, text := range reads {
		path, err := paths.Parse(text)
		if text == "*" || err != nil {
			return paths.All()
		}
		list = append(list, path)
	}
	if len(list) == 0 {
		return paths.All()
	}
	return paths.Of(list...)
}

// secretRead is a Secret that a stack reads, and the keys; all of them if there are none.
type secretRead struct {
	name string
	keys []string
}

func secretsOf(t *infrav1.Terraform) []secretRead {
	var all []secretRead
	for _, v := range t.Spec.VarsFrom {
		if v.Kind == "Secret" {
			all = append(all, secretRead{v.Name, v.VarsKeys})
		}
	}
	for _, r := range t.Spec.ReadInputsFromSecrets {
		all = append(all, secretRead{r.Name, nil})
	}
	for _, b := range t.Spec.BackendConfigsFrom {
		if b.Kind == "Secret" {
			all = append(all, secretRead{b.Name, b.Keys})
		}
	}
	for _, f := range t.Spec.FileMappings {
		all = append(all, secretRead{f.SecretRef.Name, []string{f.SecretRef.Key}})
	}
	for _, e := range t.Spec.EnvFrom {
		if e.SecretRef != nil {
			all = append(all, secretRead{e.SecretRef.Name, nil})
		}
	}
	for _, e := range t.Spec.Env {
		if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
			all = append(all, secretRead{e.ValueFrom.SecretKeyRef.Name, []string{e.ValueFrom.SecretKeyRef.Key}})
		}
	}
	return all
}

func throughSecret(t, producer *infrav1.Terraform, read secretRead) Edge {
	e := Edge{Producer: nameOf(producer), Consumer: nameOf(t), Kind: ByOutputs, Through: "Secret " + read.name, reads: paths.All()}
	var written []string
	if w := producer.Spec.WriteOutputsToSecret; w != nil {
		written = w.Outputs
	}
	if len(written) == 0 && len(read.keys) == 0 {
		e.every = true
		return e
	}
	keys := make([]string, 0, len(read.keys))
	for _, key := range read.keys {
		key, _, _ = strings.Cut(key, ":")                      // varsKeys can rename it
		keys = append(keys, strings.TrimSuffix(key, "__type")) // the type of the output beside it
	}
	if len(written) == 0 {
		e.outputs = keys // called like the outputs
		return e
	}
	for _, w := range written {
		output, alias, _ := strings.Cut(w, ":")
		if len(keys) == 0 || slices.Contains(keys, cmp.Or(alias, output)) {
			e.outputs = append(e.outputs, output)
		}
	}
	return e
}

// way names what the edge leads through, for people.
func (e *Edge) way() string {
	if e.Kind == ByContract {
		return "contract " + e.Through
	}
	return e.Through
}
