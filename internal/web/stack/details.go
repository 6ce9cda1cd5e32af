// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/contracts/impact"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/verbs"
	"github.com/yuba-dev/yuba/internal/web/live"
	"github.com/yuba-dev/yuba/internal/web/site"
	"github.com/yuba-dev/yuba/internal/web/standing"
)

// maxOutput limits an output's value that is shown, in characters.
const maxOutput = 20_000

// output is a row of the outputs.
type output struct {
	Name, Value string
	Sensitive   bool
	// Show leads to the value of a sensitive one, Hide away from it.
	Show, Hide string
}

// outputs shows the outputs. Sensitive ones are shown when the person asks for them by name.
func (p pages) outputs(r *site.Request, t *infrav1.Terraform, page *site.Page) error {
	key := client.ObjectKeyFromObject(t)
	page.Commands = []string{"yuba outputs " + key.String(), "yuba outputs " + key.String() + " NAME --show-sensitive"}
	all, err := r.As.Content.Outputs(r.Context(), key.Namespace, key.Name)
	if err != nil {
		if names := t.Status.AvailableOutputs; len(names) > 0 {
			rows := make([]output, 0, len(names))
			for _, name := range names {
				rows = append(rows, output{Name: name, Sensitive: true})
			}
			add(page, "stack-outputs", rows)
		}
		return instead(page, "stack-no-outputs", err)
	}
	if len(all) == 0 {
		add(page, "stack-note", note{Says: "This stack has no outputs."})
		return nil
	}
	add(page, "stack-outputs", outputRows(address(key, "outputs"), all, r.URL.Query().Get("show")))
	return nil
}

func outputRows(base string, all map[string]content.Output, shown string) []output {
	rows := make([]output, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		o := all[name]
		row := output{Name: name, Sensitive: o.Sensitive}
		switch {
		case o.Sensitive && name != shown:
			row.Show = with(base, nil, "show", name)
		case o.Sensitive:
			row.Hide = base
			fallthrough
		default:
			row.Value = shorten.Cut(valueText(o.Value), maxOutput)
		}
		rows = append(rows, row)
	}
	return rows
}

// valueText is a string as it is, and everything else as JSON.
func valueText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var tree any
	if json.Unmarshal(raw, &tree) == nil {
		if pretty, err := json.MarshalIndent(tree, "", "  "); err == nil {
			return string(pretty)
		}
	}
	return string(raw)
}

// whyView is the data of the part "stack-why".
type whyView struct {
	*run.Why
	Now             string
	Changes, Before []string
}

// why explains what Yuba does with the stack.
func (p pages) why(r *site.Request, t *infrav1.Terraform, page *site.Page) error {
	key := client.ObjectKeyFromObject(t)
	page.Commands = []string{"yuba why " + key.String()}
	why, err := r.As.Content.Why(r.Context(), key.Namespace, key.Name)
	if err != nil {
		return instead(page, "stack-why", err)
	}
	add(page, "stack-why", whyViewOf(&why))
	return nil
}

func whyViewOf(why *run.Why) whyView {
	v := whyView{Why: why, Now: verbs.InWords(why.Decision.Verb)}
	for i := range why.Changes {
		v.Changes = append(v.Changes, why.Changes[i].InWords())
	}
	if why.LastRun != nil {
		for i := range why.LastRun.Changes {
			v.Before = append(v.Before, why.LastRun.Changes[i].InWords())
		}
	}
	return v
}

// neighbour is a stack that another one depends on, or that depends on it.
type neighbour struct {
	Name, Address, By, Through string
	State                      standing.State
	Sentence                   string
	// Missing says why the stack is not known; empty if it is.
	Missing string
}

type neighbours struct {
	Before, After []neighbour
	// Partial is true if the person may not list all stacks.
	Partial bool
}

// graph lists what the stack depends on, and what depends on it.
func (p pages) graph(r *site.Request, t *infrav1.Terraform, page *site.Page) error {
	key := client.ObjectKeyFromObject(t)
	page.Commands = []string{"yuba graph " + key.String(), "yuba impact " + key.String()}
	stacks, all, err := p.visible(r)
	if err != nil {
		return err
	}
	add(page, "stack-graph", neighboursOf(key.String(), stacks, all))
	// The page shows how the others stand.
	page.Topics = append(page.Topics, live.Topic{Kind: &infrav1.Terraform{}})
	return nil
}

// neighboursOf are the neighbours of a stack among those that the person may list; all is true if these are
// all there are.
func neighboursOf(name string, stacks []infrav1.Terraform, all bool) neighbours {
	missing := "not found"
	if !all {
		missing = "not visible"
	}
	byName := make(map[string]*infrav1.Terraform, len(stacks))
	for i := range stacks {
		byName[stacks[i].Namespace+"/"+stacks[i].Name] = &stacks[i]
	}
	row := func(other string, e *impact.Edge) neighbour {
		n := neighbour{Name: other, Address: addressOf(other), By: string(e.Kind), Through: e.Through, Missing: missing}
		if t := byName[other]; t != nil {
			n.Missing, n.State, n.Sentence = "", standing.Of(t), standing.Sentence(t)
		}
		return n
	}
	n := neighbours{Partial: !all}
	edges := impact.Of(stacks).Edges
	for i := range edges {
		switch e := &edges[i]; name {
		case e.Consumer:
			n.Before = append(n.Before, row(e.Producer, e))
		case e.Producer:
			n.After = append(n.After, row(e.Consumer, e))
		}
	}
	return n
}

// addressOf is the address of the stack NAMESPACE/NAME.
func addressOf(stack string) string {
	namespace, name, _ := strings.Cut(stack, "/")
	return site.Path("stacks", namespace, name)
}

// events shows what was reported about the stack, and what the audit log has.
func (p pages) events(r *site.Request, t *infrav1.Terraform, page *site.Page) error {
	key := client.ObjectKeyFromObject(t)
	page.Commands = []string{"yuba kubectl -n " + t.Namespace + " events --for terraform/" + t.Name, "yuba audit " + key.String()}
	var trace trace
	readTrace(r, key, "", &trace)
	if len(trace.Events) == 0 {
		trace.Says = "There are no events. The API keeps them for about an hour."
	}
	add(page, "stack-trace", trace)
	return nil
}

// yamlView is the data of the part "stack-yaml".
type yamlView struct{ Text string }

// yaml shows the object, without what only machines need.
func (p pages) yaml(_ *site.Request, t *infrav1.Terraform, page *site.Page) error {
	page.Commands = []string{"yuba kubectl -n " + t.Namespace + " get terraform " + t.Name + " -o yaml"}
	text, err := yamlOf(t)
	if err != nil {
		return err
	}
	add(page, "stack-yaml", yamlView{text})
	return nil
}

// lastApplied is kubectl's copy of the object as it was applied.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

func yamlOf(t *infrav1.Terraform) (string, error) {
	t = t.DeepCopy()
	t.ManagedFields = nil
	delete(t.Annotations, lastApplied)
	t.APIVersion, t.Kind = infrav1.GroupVersion.String(), cmp.Or(t.Kind, "Terraform")
	text, err := yaml.Marshal(t)
	return string(text), err
}
